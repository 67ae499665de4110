/* plan.h - what nobody chose: how large a model a time is worth on this machine, and how much
 * dropout a text needs. */
#ifndef TRIL_PLAN_H
#define TRIL_PLAN_H

#include "data/data.h"
#include "training/settings.h"

/* Sizes that are open are 0 in the settings, an open dropout is negative. */
bool plan_is_open(const Settings *settings);

/* The settings with the smallest of what a plan could choose where they leave it open. */
Settings plan_least(const Settings *settings);

typedef struct {
    double speed; /* characters a second that the model trains on this machine, measured; 0: not */
    double times; /* that the text is seen: 2 is all of it twice */
} Plan;

/* Settles what is open. Sizes are those that `seconds` of training are worth: the larger a model,
 * the more characters it must see before it is better than a smaller one, and how many it sees is
 * measured, in a few steps of each that comes into question. Dropout is by how often the text is
 * seen. Steps that are open, or time, are made fewer where the text is too short for them. Where
 * seconds are 0, steps count, and no sizes are open. Refused: sizes that were chosen and cannot be,
 * or too little memory for any. */
bool plan_make(Settings *settings, const Corpus *corpus, double seconds, Plan *plan, Error *err);

#endif
