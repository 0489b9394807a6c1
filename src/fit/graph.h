/* The fuzzy nearest-neighbour graph of one class (UMAP's), as a list of edges to draw from. */
#pragma once

#include "backend/backend.h"
#include "core/core.h"

typedef struct rer_edge {
    int32_t head, tail;
    float weight;  /* membership of the union, 0..1 */
    int32_t count; /* how often it is drawn in one epoch */
} rer_edge;

typedef struct rer_graph {
    rer_edge *edges; /* both directions of each edge are there, sorted by head and tail */
    int64_t count;
    int64_t draws; /* sum of edges[].count */
} rer_graph;

typedef struct rer_graph_settings {
    int64_t neighbors; /* k, the sample itself included; at most n - 1 are used */
    int64_t epochs;    /* 20: an edge of weight w is drawn floor(20 w) times */
    bool cosine;       /* else Euclidean */
} rer_graph_settings;

/* x [n, D]. */
rer_status rer_graph_make(rer_graph *graph, const float *x, int64_t n, int64_t D, const rer_graph_settings *settings,
                          const rer_kernels *kernels, rer_error *error);
void rer_graph_free(rer_graph *graph);
