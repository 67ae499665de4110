/* spark.h - a loss curve as one word: ▇▅▃▂▂▁▁▁ */
#ifndef TRIL_PROGRAMS_TRAIN_SPARK_H
#define TRIL_PROGRAMS_TRAIN_SPARK_H

enum { SPARK_COLUMNS = 16, SPARK_SIZE = 3 * SPARK_COLUMNS + 1 };

/* Each column is the mean of equally many values. Only the last may have fewer. When all columns
 * are full, pairs are merged. Initialise with {0}. */
typedef struct {
    double sums[SPARK_COLUMNS];
    int count;   /* columns with a value */
    int in_last; /* values in the last of them */
    int each;    /* values in every other column; 0 means 1 */
} Spark;

void spark_add(Spark *spark, double value);

/* Writes the columns as blocks of eight heights, in UTF-8. The highest is the highest of the last
 * three quarters: a loss falls so far in the first steps that what follows would look flat. Writes
 * nothing if there are no values. */
void spark_text(const Spark *spark, char text[SPARK_SIZE]);

#endif
