/* copies.c - the passages of a text, such as one that a model wrote, that the training part has.
 *
 * The suffix automaton of the text (Blumer et al., "The Smallest Automaton Recognizing the Subwords
 * of a Text", 1985) reads the training part once: it is always in the state of the longest passage
 * of the text that ends there. A state stands for passages that end at the same places of the text,
 * each a suffix of the longest. */
#include "data/data.h"
#include "base/memory.h"

typedef struct {
    int32_t length; /* of its longest passage */
    int32_t link;   /* the state of their longest suffix in another state; the root has -1 */
    int32_t edge;   /* the first of its edges, or 0 */
    int32_t found;  /* the length of its longest passage that was found, or 0 */
} State;

/* An id after the passages of a state leads to those of another one. */
typedef struct {
    int32_t id, to;
    int32_t next; /* edge of the same state, or 0 */
} Edge;

/* The root, state 0, has the empty passage. It has the most edges, which have an index. */
typedef struct {
    State *states;
    Edge *edges;     /* from number 1 */
    int32_t *firsts; /* [vocabulary + 1]: by its id + 1, the root's edge, or 0 */
    int32_t state_count, edge_count;
} Automaton;

/* Returns the edge with this id, or 0. */
static int32_t find_edge(const Automaton *a, int32_t state, int32_t id) {
    if (state == 0) return a->firsts[id + 1];
    int32_t edge = a->states[state].edge;
    while (edge && a->edges[edge].id != id) edge = a->edges[edge].next;
    return edge;
}

static void add_edge(Automaton *a, int32_t state, int32_t id, int32_t to) {
    a->edges[++a->edge_count] = (Edge){id, to, a->states[state].edge};
    a->states[state].edge = a->edge_count;
    if (state == 0) a->firsts[id + 1] = a->edge_count;
}

/* Appends an id to the text, whose state is `last`. Returns the state of the longer text. */
static int32_t append(Automaton *a, int32_t last, int32_t id) {
    State *states = a->states;
    const int32_t now = a->state_count++;
    int32_t from = last, edge = 0;
    states[now].length = states[last].length + 1;
    for (; from >= 0 && !(edge = find_edge(a, from, id)); from = states[from].link)
        add_edge(a, from, id, now);
    if (from < 0) return now;
    const int32_t to = a->edges[edge].to;
    if (states[to].length == states[from].length + 1) {
        states[now].link = to;
        return now;
    }
    /* the shorter passages of `to` now end at one more place than the others: they get a state */
    const int32_t shorter = a->state_count++;
    states[shorter] = (State){.length = states[from].length + 1, .link = states[to].link};
    for (int32_t e = states[to].edge; e; e = a->edges[e].next)
        add_edge(a, shorter, a->edges[e].id, a->edges[e].to);
    for (; from >= 0 && (edge = find_edge(a, from, id)) && a->edges[edge].to == to;
         from = states[from].link)
        a->edges[edge].to = shorter;
    states[to].link = states[now].link = shorter;
    return now;
}

/* Finds the passages that ids[count] has. */
static void find_passages(Automaton *a, const int32_t *ids, size_t count) {
    State *states = a->states;
    int32_t state = 0, length = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t edge;
        while (!(edge = find_edge(a, state, ids[i])) && state > 0) {
            state = states[state].link;
            length = states[state].length;
        }
        if (edge) {
            state = a->edges[edge].to;
            length++;
        }
        if (length > states[state].found) states[state].found = length;
    }
    /* with a passage, all of its suffixes are found */
    for (int32_t i = 1; i < a->state_count; i++)
        for (int32_t j = states[i].link; states[i].found && j > 0; j = states[j].link) {
            if (states[j].found == states[j].length) break;
            states[j].found = states[j].length;
        }
}

/* Returns the length of the longest passage that was found among a state's and their suffixes.
 * Shortens the links on the way, so that no other call takes it again. */
static int32_t longest_suffix(State *states, int32_t state) {
    int32_t suffix = state;
    while (suffix > 0 && !states[suffix].found) suffix = states[suffix].link;
    for (int32_t next; state != suffix; state = next) {
        next = states[state].link;
        states[state].link = suffix;
    }
    return states[suffix].found;
}

bool corpus_copied(const Corpus *corpus, const int32_t *ids, size_t count, int32_t *longest,
                   Error *err) {
    static const char of[] = "the passages";
    const int V = corpus->vocab.size;
    Automaton a = {.state_count = 1};
    int32_t *ends = NULL, last = 0; /* the state of each beginning; then the length below */
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= V) return fail(err, "id %d is not from 0 to %d", (int)ids[i], V - 1);
    const bool ok = (count <= INT32_MAX / 4 || fail(err, "a text of %zu is too long", count)) &&
                    memory_alloc(&a.states, 2 * count + 1, sizeof *a.states, of, err) &&
                    memory_alloc(&a.edges, 3 * count + 1, sizeof *a.edges, of, err) &&
                    memory_alloc(&a.firsts, (size_t)V + 1, sizeof *a.firsts, of, err) &&
                    memory_alloc(&ends, count, sizeof *ends, of, err);
    if (ok) a.states[0].link = -1;
    for (size_t i = 0; ok && i < count; i++)
        ends[i] = last = append(&a, last, ids[i] < 0 ? -1 : ids[i]);
    if (ok) find_passages(&a, corpus->ids, corpus->trained_on);
    for (size_t i = 0; ok && i < count; i++) {
        ends[i] = longest_suffix(a.states, ends[i]);
        longest[i] = 0;
    }
    /* A passage covers its ids, unless a longer one that begins no later does. */
    for (size_t i = 0; ok && i < count; i++) {
        if (i + 1 < count && ends[i + 1] > ends[i]) continue; /* a part of the next one */
        for (size_t j = i + 1; j > i + 1 - (size_t)ends[i] && longest[j - 1] < ends[i]; j--)
            longest[j - 1] = ends[i];
    }
    memory_free(a.states);
    memory_free(a.edges);
    memory_free(a.firsts);
    memory_free(ends);
    return ok;
}
