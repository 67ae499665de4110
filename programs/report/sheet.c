#include "programs/report/sheet.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

void sheet_say(Sheet *sheet, const char *format, ...) {
    char text[2048], numbered[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *line = text, *next; line; line = next) {
        if ((next = strchr(line, '\n'))) *next++ = 0;
        if (strncmp(line, "## ", 3) == 0) {
            snprintf(numbered, sizeof numbered, "%d. %s", ++sheet->headings, line + 3);
            sheet->kind->text(sheet, HEADING, numbered);
        } else {
            bool title = strncmp(line, "# ", 2) == 0;
            sheet->kind->text(sheet, title ? TITLE : TEXT, title ? line + 2 : line);
        }
    }
}

Elision elide(int count, int max) {
    if (count <= max) return (Elision){count, count, NO_GAP};
    return (Elision){count, max, max / 2};
}

int elision_place(Elision e, int i) {
    return e.gap >= 0 && i >= e.gap ? e.count - e.shown + i : i;
}

Number number(double value) {
    Number n;
    if (!(fabs(value) < 1e5)) {
        snprintf(n.text, sizeof n.text, isfinite(value) ? "%.0e" : "%f", value);
        return n;
    }
    for (int decimals = 3; decimals >= 0; decimals--)
        if (snprintf(n.text, sizeof n.text, "%.*f", decimals, value) <= NUMBER_COLUMNS) break;
    if (*n.text == '-' && strspn(n.text, "-0.") == strlen(n.text)) /* avoids a minus before 0 */
        memmove(n.text, n.text + 1, strlen(n.text));
    return n;
}

Number sheet_cell(const Table *table, int r, int c) {
    const double value = (double)table->numbers[(size_t)r * table->row + (size_t)c];
    Number n = number(value);
    if (table->masked && c > r)
        snprintf(n.text, sizeof n.text, "%s", table->masked);
    else if (table->whole)
        snprintf(n.text, sizeof n.text, "%.0f", value);
    return n;
}

double sheet_largest(const Bars *lists, int count) {
    double largest = 0;
    for (int l = 0; l < count; l++)
        for (int i = 0; i < lists[l].count; i++)
            largest = fmax(largest, fabs(lists[l].bars[i].value));
    return largest;
}

void head_title(const HeadMap *map, char title[HEAD_TITLE]) {
    snprintf(title, HEAD_TITLE, map->head < 0 ? "mean" : "head %d", map->head);
}
