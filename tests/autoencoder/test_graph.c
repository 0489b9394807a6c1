/* The neighbour graph against umap-learn's on the same rows (reference.json, made by
 * make_reference.py): the same edges, weights to 1e-4, and drawn as often, unless the last bit of a
 * weight decides. */
#include "reference.h"

#include "fit/graph.h"

#define WEIGHT_BAR 1e-4

static const rer_edge *find_edge(const rer_graph *graph, int64_t head, int64_t tail)
{
    for (int64_t e = 0; e < graph->count; e++)
        if (graph->edges[e].head == head && graph->edges[e].tail == tail)
            return &graph->edges[e];
    return NULL;
}

static void compare(const json_t *known, const rer_graph *graph, const char *name)
{
    const json_t *edges = json_object_get(known, "edges"), *each;
    size_t index;
    int64_t draws = 0;
    assert_int_equal(graph->count, 2 * json_array_size(edges));
    json_array_foreach(edges, index, each)
    {
        int64_t i = json_integer_value(json_array_get(each, 0)), j = json_integer_value(json_array_get(each, 1));
        double weight = json_number_value(json_array_get(each, 2));
        int64_t count = json_integer_value(json_array_get(each, 3));
        const rer_edge *there = find_edge(graph, i, j), *back = find_edge(graph, j, i);
        if (there == NULL || back == NULL)
            fail_msg("%s: edge %lld - %lld of weight %g is missing", name, (long long)i, (long long)j, weight);
        assert_true(there->weight == back->weight);
        if (!(fabs((double)there->weight - weight) <= WEIGHT_BAR))
            fail_msg("%s: edge %lld - %lld has weight %g, not %g", name, (long long)i, (long long)j,
                     (double)there->weight, weight);
        double times = 20 * weight, slack = fabs(times - rint(times)) < 1e-4 ? 1 : 0;
        if (fabs((double)(there->count - count)) > slack || back->count != there->count)
            fail_msg("%s: edge %lld - %lld of weight %.8g is drawn %d times, not %lld", name, (long long)i,
                     (long long)j, (double)there->weight, there->count, (long long)count);
        draws += 2 * there->count;
    }
    assert_int_equal(graph->draws, draws);
}

static void test_against_umap_learn(void **state)
{
    const json_t *graphs = json_object_get(*state, "graphs"), *known;
    double scale = json_number_value(json_object_get(*state, "scale"));
    size_t index;
    assert_true(json_array_size(graphs) >= 10);
    json_array_foreach(graphs, index, known)
    {
        const char *name = json_string_value(json_object_get(known, "name"));
        int64_t n = reference_integer(known, "n"), D = reference_integer(known, "D");
        rer_graph_settings settings = {
            .neighbors = reference_integer(known, "k"),
            .epochs = 20,
            .cosine = strcmp(json_string_value(json_object_get(known, "metric")), "cosine") == 0,
        };
        rer_graph graph = {0};
        rer_error error = {0};
        double *whole = reference_numbers(known, "x", n * D);
        float *x = malloc((size_t)(n * D) * sizeof *x);
        assert_non_null(x);
        for (int64_t i = 0; i < n * D; i++)
            x[i] = (float)(whole[i] / scale);
        assert_int_equal(rer_graph_make(&graph, x, n, D, &settings, rer_cpu_kernels(), &error), RER_OK);
        compare(known, &graph, name);
        rer_graph_free(&graph);
        free(x);
        free(whole);
    }
}

/* Rows in float products alone would be in the wrong order: far from the origin, near each other. */
static void test_far_from_the_origin(void **state)
{
    (void)state;
    enum { n = 60, D = 3 };
    float near[n * D], far[n * D];
    rer_graph graphs[2];
    rer_graph_settings settings = {.neighbors = 5, .epochs = 20};
    uint64_t random = 9;
    for (int i = 0; i < n * D; i++) {
        near[i] = (float)floor(made_uniform(&random) * 64) / 64;
        far[i] = near[i] + 40;
    }
    for (int k = 0; k < 2; k++)
        assert_int_equal(rer_graph_make(&graphs[k], k ? far : near, n, D, &settings, rer_cpu_kernels(), NULL), RER_OK);
    assert_int_equal(graphs[0].count, graphs[1].count);
    assert_memory_equal(graphs[0].edges, graphs[1].edges, (size_t)graphs[0].count * sizeof(rer_edge));
    rer_graph_free(&graphs[0]);
    rer_graph_free(&graphs[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_umap_learn),
        cmocka_unit_test(test_far_from_the_origin),
    };
    return cmocka_run_group_tests_name("autoencoder.graph", tests, reference_open, reference_close);
}
