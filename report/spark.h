/* spark.h - the course of a loss as one word: ▇▅▃▂▂▁▁▁ */
#ifndef TRIL_REPORT_SPARK_H
#define TRIL_REPORT_SPARK_H

enum { SPARK_COLUMNS = 16, SPARK_ROOM = 3 * SPARK_COLUMNS + 1 };

/* The means of equally many values each, but for the last one; when all columns are taken, two
 * become one. Begins as {0}. */
typedef struct {
    double sums[SPARK_COLUMNS];
    int count;   /* columns with a value */
    int in_last; /* values in the last of them */
    int each;    /* values in every other one; 0 stands for 1 */
} Spark;

void spark_add(Spark *spark, double value);

/* The columns from lowest to highest as blocks of eight heights, in UTF-8; empty before the first
 * value. */
void spark_text(const Spark *spark, char text[SPARK_ROOM]);

#endif
