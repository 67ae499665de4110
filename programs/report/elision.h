/* elision.h - which of many things are shown where few fit: the first ones and the last ones. */
#ifndef TRIL_PROGRAMS_REPORT_ELISION_H
#define TRIL_PROGRAMS_REPORT_ELISION_H

/* `shown` of `count` things. A gap comes before shown thing number `gap`; -1: none. */
typedef struct {
    int count, shown, gap;
} Elision;

/* Shows at most `max` >= 1 things. The last one is always among them. */
static inline Elision elide(int count, int max) {
    if (count <= max) return (Elision){count, count, -1};
    return (Elision){count, max, max / 2};
}

/* The number, among all, of shown thing i. */
static inline int elision_place(Elision e, int i) {
    return e.gap >= 0 && i >= e.gap ? e.count - e.shown + i : i;
}

#endif
