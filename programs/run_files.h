/* run_files.h - names and beginnings of the files of a training run. */
#ifndef TRIL_PROGRAMS_RUN_FILES_H
#define TRIL_PROGRAMS_RUN_FILES_H

/* The page. */
#define RUN_PAGE "report.html"
#define RUN_PAGE_BEGINNING                                                    \
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" \
    "<meta name=\"training\" content=\""

/* The line about a run that was moved to earlier-N. */
#define RUN_ABOUT "about.txt"

/* The first line of every log. */
#define LOG_HEADING \
    "step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,sample,tflop\n"

/* The first line of the table of a ladder. */
#define TABLE_HEADING "model,parameters,train_loss,val_loss,bits_per_char,seconds,tflop\n"

#endif
