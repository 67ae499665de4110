#include "programs/train/spark.h"

#include <math.h>
#include <string.h>

/* Merges each pair of columns, which frees half of them. */
static void halve(Spark *spark) {
    for (int i = 0; i < SPARK_COLUMNS / 2; i++)
        spark->sums[i] = spark->sums[2 * i] + spark->sums[2 * i + 1];
    spark->count = SPARK_COLUMNS / 2;
    spark->each *= 2;
    spark->in_last = spark->each;
}

void spark_add(Spark *spark, double value) {
    if (spark->each == 0) spark->each = 1;
    if (spark->count > 0 && spark->in_last < spark->each) {
        spark->sums[spark->count - 1] += value;
        spark->in_last++;
        return;
    }
    if (spark->count == SPARK_COLUMNS) halve(spark);
    spark->sums[spark->count++] = value;
    spark->in_last = 1;
}

static double mean_of(const Spark *spark, int column) {
    return spark->sums[column] / (column + 1 < spark->count ? spark->each : spark->in_last);
}

void spark_text(const Spark *spark, char text[SPARK_SIZE]) {
    static const char blocks[][4] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    enum { HEIGHTS = sizeof blocks / sizeof *blocks };
    double min = INFINITY, max = -INFINITY;
    for (int i = 0; i < spark->count; i++) {
        min = fmin(min, mean_of(spark, i));
        if (i >= spark->count / 4) max = fmax(max, mean_of(spark, i));
    }
    *text = 0;
    for (int i = 0; i < spark->count; i++) {
        double share = max > min ? (mean_of(spark, i) - min) / (max - min) : 0;
        int height = (int)(fmin(share, 1) * HEIGHTS);
        memcpy(text, blocks[height < HEIGHTS ? height : HEIGHTS - 1], sizeof *blocks);
        text += sizeof *blocks - 1; /* the next block overwrites the NUL */
    }
}
