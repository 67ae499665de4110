/* rungs.h - the rungs, lowest first. A new rung needs its file, and a line here. */
#ifndef TRIL_MODEL_RUNGS_RUNGS_H
#define TRIL_MODEL_RUNGS_RUNGS_H

#define LADDER(RUNG) \
    RUNG(bigram)     \
    RUNG(average)    \
    RUNG(head)       \
    RUNG(multihead)  \
    RUNG(gpt)        \
    RUNG(modern)     \
    RUNG(conv)       \
    RUNG(ngram)      \
    /* the next one */

#endif
