#include "training/log.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a log that is there, and forgets what follows its first `length` bytes. */
static FILE *open_again(const char *path, size_t length) {
    struct stat status;
    FILE *log = fopen(path, "r+");
    if (!log) return NULL;
    if (fstat(fileno(log), &status) == 0 && S_ISREG(status.st_mode) &&
        (size_t)status.st_size >= length && ftruncate(fileno(log), (off_t)length) == 0 &&
        fseeko(log, 0, SEEK_END) == 0)
        return log;
    fclose(log);
    return NULL;
}

bool log_open(FILE **log, const char *path, size_t length, Error *err) {
    *log = length > 0 ? open_again(path, length) : NULL;
    if (*log) return true;
    *log = fopen(path, "w");
    if (!*log) return fail(err, "%s: cannot be created: %s", path, strerror(errno));
    fputs("step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second\n", *log);
    return true;
}

void log_row(FILE *log, const LogRow *row) {
    fprintf(log, "%d,%.0f,%.3f,%.6g,%.6f,", row->step, row->characters, row->seconds, row->rate,
            row->loss);
    if (!isnan(row->validation)) fprintf(log, "%.6f", row->validation);
    fprintf(log, ",%.6g,%.0f\n", row->norm, row->speed);
}

size_t log_flush(FILE *log) {
    off_t length = fflush(log) == 0 ? ftello(log) : -1;
    return length > 0 ? (size_t)length : 0;
}
