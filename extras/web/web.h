/* web.h - what the page calls. Each function is an export of the WebAssembly module, under its
 * name without web_.
 *
 * A function that can fail returns 1 or 0. Its answer (web_answer) lasts until the next call;
 * after 0 it is a sentence. A rung is named by its place in the ladder, from 0. Bytes come in
 * through rooms: the page asks for one, fills it, and makes the call that reads it. */
#ifndef TRIL_EXTRAS_WEB_WEB_H
#define TRIL_EXTRAS_WEB_WEB_H

#include <stddef.h>

#if defined __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name)
#endif

/* ---- answers and bytes ---- */

EXPORT(answer) const char *web_answer(void);
EXPORT(answer_length) size_t web_answer_length(void);

/* The most memory in bytes that the module may take. */
EXPORT(memory_limit) size_t web_memory_limit(void);

/* A room for `length` bytes: of a text (0), a checkpoint (1) or a line (2). NULL with an answer:
 * refused, as too long or for lack of memory. */
EXPORT(room) char *web_room(int kind, size_t length);

/* Releases everything. */
void web_close(void);

/* ---- the text and the ladder ---- */

/* The rungs as JSON: [{"rung", "name", "idea"}]. */
EXPORT(ladder) int web_ladder(void);

/* Takes the text in its room, as bytes or as UTF-8. All rungs go; after a failure they stay. The
 * answer: {"characters", "train", "vocabulary"} and the counted losses, {"uniform", "unigram",
 * "bigram"}, in nats per character. */
EXPORT(take_text) int web_take_text(int bytes);

/* ---- training ---- */

/* Set what the rungs that are added next are made of. set_sizes sets the dropout to 0. */
EXPORT(set_sizes)
void web_set_sizes(int layers, int heads, int width, int context, int batch, int steps,
                   double seed);
EXPORT(set_dropout) void web_set_dropout(double dropout);

/* How large a rung of these sizes is: {"parameters", "bytes", "work"}; work: roughly the
 * multiply-adds of a step. */
EXPORT(estimate) int web_estimate(int rung);

/* Adds a rung with random weights, in place of the one that is there. The answer is that of
 * web_rungs. */
EXPORT(add) int web_add(int rung);

/* Removes a rung. */
EXPORT(drop) void web_drop(int rung);

/* The rungs in training: [{"rung", "step", "steps", "parameters", "done", "loss" (the mean since
 * the last evaluation), "heldOut" (the last), "lowest", "seconds", "characters", "layers", "heads",
 * "width", "context", "sample" (a line that it wrote), "failed" (why it cannot go on, or empty)}].
 */
EXPORT(rungs) int web_rungs(void);

/* Trains for at least one step and about `milliseconds`, each step in the rung that is furthest
 * behind, in steps or in seconds. Returns 0 if none can go on. No answer. */
EXPORT(advance) int web_advance(double milliseconds, int by_time);

/* Sets after how many steps a rung ends: more than planned, and it goes on. */
EXPORT(set_steps) void web_set_steps(int rung, int steps);

/* The losses of all rungs and the counted lines as a figure of a page (extras/page/figure.h).
 */
EXPORT(draw_losses) int web_draw_losses(int height, int by_time);

/* ---- looking ---- */

EXPORT(set_sampler)
void web_set_sampler(double temperature, int top_k, double top_p, double seed);

/* Reads the line in its room with the present weights of a rung: of a long one the end, as long as
 * the context. The answer: {"glyphs": [], "nats" (the loss on the line), "next": [{"p", "picked"
 * (by the sampler), "glyph"}]}, the likeliest first. web_next: the same again, after set_sampler.
 */
EXPORT(read_line) int web_read_line(int rung);
EXPORT(next) int web_next(void);

/* Of the model that read the line: the layers that attend, and the heads in each, {"layers",
 * "heads"}. */
EXPORT(heads) int web_heads(void);

/* What a head attends to on the line: as a figure of a page. */
EXPORT(draw_map) int web_draw_map(int layer, int head);

/* All steps from the line to its next character, as a part of a page; layer and head as those of
 * `explain` (programs/report/explain.h). */
EXPORT(explain) int web_explain(int layer, int head);

/* Begins to write after the line in its room; web_write_on then answers with the next `most`
 * characters, or fewer if the milliseconds are over. */
EXPORT(prompt) int web_prompt(int rung);
EXPORT(write_on) int web_write_on(int most, double milliseconds);

/* How well a rung predicts the text in the line's room, as ./sample --score measures it:
 * {"characters", "nats"}. */
EXPORT(score) int web_score(int rung);

/* ---- checkpoints ---- */

/* The answer is the state of a rung as a file (tril_training_save). */
EXPORT(save) int web_save(int rung);

/* Takes the checkpoint in its room, a model or a state. All other rungs go. It goes on where it
 * stopped if it is a state of a training on the tab's text; else it begins with the weights, at a
 * tenth of the usual rate. Without a text it can be looked at only. The answer is that of
 * web_rungs. */
EXPORT(load) int web_load(void);

#endif
