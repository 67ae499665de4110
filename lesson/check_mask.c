/* check_mask.c - checks lesson/exercise_mask.c: make exercise-mask. */
#include "lesson/lesson.h"

enum { T = 6, V = 128 };

int main(void) {
    static double before[T * V], after[T][T * V]; /* after[s]: with another character s */
    char text[T + 1] = "candle";
    predict(text, T, before);
    for (int s = 0; s < T; s++) {
        const char was = text[s];
        text[s] = 'o';
        predict(text, T, after[s]);
        text[s] = was;
    }
    printf("# changes with that character   X changes, although it comes later\n\n");
    printf("                       c a n d l e\n");
    int wrong_t = -1, wrong_s = -1; /* the first wrong one */
    for (int t = 0; t < T; t++) {
        printf("the prediction after %c", text[t]);
        for (int s = 0; s < T; s++) {
            const bool changes = before[t * V + 'e'] != after[s][t * V + 'e'];
            printf(" %c", !changes ? '.' : s <= t ? '#' : 'X');
            if (changes != (s <= t) && wrong_t < 0) wrong_t = t, wrong_s = s;
        }
        printf("\n");
    }
    printf("\nmask: %s\n", wrong_t < 0 ? "right" : "wrong");
    if (wrong_t < 0) return 0;
    printf("    the first wrong one: if character %d, '%c', becomes 'o',\n", wrong_s,
           text[wrong_s]);
    printf("    the logit of 'e' after character %d was %.6f and is %.6f\n", wrong_t,
           before[wrong_t * V + 'e'], after[wrong_s][wrong_t * V + 'e']);
    return 1;
}
