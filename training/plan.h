/* plan.h - what nobody chose: how large a model a time is worth on this machine, how often a text
 * is worth being seen, and how much dropout it then needs. */
#ifndef TRIL_PLAN_H
#define TRIL_PLAN_H

#include "data/data.h"
#include "training/settings.h"

/* Are sizes open? They are 0 then in the settings; an open dropout is negative, and so are open
 * epochs. */
bool plan_is_open(const Settings *settings);

/* The settings with the smallest of what a plan could choose where they leave it open. */
Settings plan_least(const Settings *settings);

typedef struct {
    double speed;  /* characters a second that the model trains on this machine; 0: not measured */
    double epochs; /* that it is expected to see; 0: not known */
} Plan;

/* Settles what is open, for the rung `name`. By the clock, sizes are those that its `seconds` are
 * worth: the larger a model, the more characters it must see before it is better than a smaller
 * one, and how many it sees is measured, in a few steps of each that comes into question. Steps
 * that are open are made fewer where the text is too short for them. Dropout is by how often the
 * text is seen, and by how many weights. Refused: sizes that were chosen and cannot be, or too
 * little memory for any. */
bool plan_make(Settings *settings, const Corpus *corpus, const char *name, double seconds,
               Plan *plan, Error *err);

#endif
