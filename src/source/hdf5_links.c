/* From a path to an object of an HDF5 file. Groups are of two kinds: old ones keep their links in a B-tree of tables
 * with the names in a heap, new ones as messages. Links to other files are not followed. */
#include "source/hdf5.h"
#include "source/texts.h"

#define SOFT_MAX 16 /* soft links to soft links */

enum { HARD = 0, SOFT = 1, EXTERNAL = 64 };

typedef struct link {
    int kind;
    uint64_t address; /* of a hard one */
} link;

/* What stands in a group; or a data set, where it turns out to be one. */
typedef struct group {
    bool is_set, is_dense;
    rer_texts_builder names, targets; /* [count]; of soft and external links */
    link *links;                      /* [count] */
    int64_t capacity;
    rer_h5_piece heap; /* names of an old group */
} group;

static void free_group(group *g)
{
    rer_texts_free(&g->names.texts);
    rer_texts_free(&g->targets.texts);
    free(g->links);
}

/* Name and target end with their piece, or with the first zero in it. */
static void add_link(rer_h5 *h5, group *g, link added, rer_h5_piece name, rer_h5_piece target)
{
    int64_t count = g->names.texts.count;
    int64_t name_length = name.size > 0 ? (int64_t)strnlen((const char *)name.bytes, (size_t)name.size) : 0;
    int64_t length = target.size > 0 ? (int64_t)strnlen((const char *)target.bytes, (size_t)target.size) : 0;
    if (h5->status == RER_OK)
        h5->status = rer_grow(&g->links, &g->capacity, count + 1, sizeof *g->links, "links of a group", h5->error);
    if (h5->status == RER_OK)
        h5->status = rer_texts_add(&g->targets, (const char *)target.bytes, length, h5->error);
    if (h5->status == RER_OK)
        h5->status = rer_texts_add(&g->names, (const char *)name.bytes, name_length, h5->error);
    if (h5->status == RER_OK)
        g->links[count] = added;
}

/* ---- old groups -------------------------------------------------------------------------- */

/* The heap from an offset on. */
static rer_h5_piece heap_at(const group *g, uint64_t offset)
{
    rer_h5_piece rest = g->heap;
    rest.at = 0;
    rer_h5_skip(&rest, offset);
    return rer_h5_part(&rest, (uint64_t)(rest.size - rest.at));
}

static void read_symbols(rer_h5 *h5, void *context, rer_h5_piece *key, uint64_t address)
{
    group *g = context;
    (void)key;
    rer_h5_piece head = rer_h5_load(h5, address, 8, "SNOD", false);
    rer_h5_skip(&head, 2);
    uint64_t count = rer_h5_number(&head, 2), entry_bytes = 2 * (uint64_t)h5->address_size + 24;
    rer_h5_end(h5, &head);
    rer_h5_piece entries = rer_h5_load(h5, address + 8, count * entry_bytes, NULL, false);
    for (uint64_t i = 0; i < count && h5->status == RER_OK; i++) {
        rer_h5_piece entry = rer_h5_part(&entries, entry_bytes), target = {0};
        uint64_t name = rer_h5_address(h5, &entry);
        link found = {.kind = HARD, .address = rer_h5_address(h5, &entry)};
        if (rer_h5_number(&entry, 4) == 2) { /* a soft link: where its target stands in the heap */
            rer_h5_skip(&entry, 4);
            found.kind = SOFT;
            target = heap_at(g, rer_h5_number(&entry, 4));
        }
        add_link(h5, g, found, heap_at(g, name), target);
    }
    rer_h5_end(h5, &entries);
}

static void read_old_group(rer_h5 *h5, group *g, rer_h5_piece *body)
{
    uint64_t tree = rer_h5_address(h5, body), heap = rer_h5_address(h5, body);
    rer_h5_piece head =
        rer_h5_load(h5, heap, 8 + 2 * (uint64_t)h5->length_size + (uint64_t)h5->address_size, "HEAP", false);
    rer_h5_skip(&head, 4);
    uint64_t size = rer_h5_length(h5, &head);
    (void)rer_h5_length(h5, &head);
    g->heap = rer_h5_load(h5, rer_h5_address(h5, &head), size, NULL, false);
    rer_h5_end(h5, &head);
    rer_h5_walk(h5, &(rer_h5_tree){.kind = 0, .key_bytes = h5->length_size, .visit = read_symbols, .context = g}, tree);
    rer_h5_end(h5, &g->heap);
}

/* ---- new groups -------------------------------------------------------------------------- */

static void read_link(rer_h5 *h5, group *g, rer_h5_piece *body)
{
    rer_h5_piece target = {0};
    link found = {.kind = HARD, .address = RER_H5_NOWHERE};
    rer_h5_skip(body, 1);
    uint64_t flags = rer_h5_number(body, 1);
    if (flags & 8)
        found.kind = (int)rer_h5_number(body, 1);
    rer_h5_skip(body, (flags & 4 ? 8u : 0u) + (flags & 16 ? 1u : 0u));
    rer_h5_piece name = rer_h5_part(body, rer_h5_number(body, (int64_t)1 << (flags & 3)));
    if (found.kind == HARD)
        found.address = rer_h5_address(h5, body);
    else
        target = rer_h5_part(body, rer_h5_number(body, 2));
    if (found.kind == EXTERNAL)
        rer_h5_skip(&target, 1); /* flags, before the name of the file */
    add_link(h5, g, found, name, rer_h5_part(&target, (uint64_t)(target.size - target.at)));
}

static void visit_group(rer_h5 *h5, void *context, int type, bool is_shared, rer_h5_piece *body)
{
    group *g = context;
    (void)is_shared;
    if (type == RER_H5_SYMBOL_TABLE) {
        read_old_group(h5, g, body);
    } else if (type == RER_H5_LINK) {
        read_link(h5, g, body);
    } else if (type == RER_H5_LINK_INFO) {
        rer_h5_skip(body, 1);
        rer_h5_skip(body, rer_h5_number(body, 1) & 1 ? 8 : 0);
        g->is_dense = rer_h5_address(h5, body) != RER_H5_NOWHERE;
    } else if (type == RER_H5_LAYOUT) {
        g->is_set = true;
    }
}

/* ---- paths ------------------------------------------------------------------------------- */

static int64_t place_of(const group *g, const char *name, size_t length)
{
    for (int64_t i = 0; i < g->names.texts.count; i++) {
        const char *other = rer_text(&g->names.texts, i);
        if (strlen(other) == length && memcmp(other, name, length) == 0)
            return i;
    }
    return -1;
}

static void fail_missing(rer_h5 *h5, const group *g, const char *path)
{
    char list[500];
    const char *quoted = RER_QUOTED(path);
    if (g->is_dense)
        rer_h5_fail(h5,
                    "'%s' lies in a group of so many links that HDF5 keeps them in a heap, which is not read; "
                    "h5copy it to a file of its own",
                    quoted);
    else if (g->is_set)
        rer_h5_fail(h5, "has no data set '%s': a part of this path is a data set, not a group", quoted);
    else
        rer_h5_fail(h5, "has no data set '%s'; its group holds %s", quoted,
                    g->names.texts.count > 0 ? rer_texts_list(&g->names.texts, list, sizeof list) : "nothing");
}

static uint64_t follow(rer_h5 *h5, uint64_t address, const char *path, int depth);

static uint64_t follow_link(rer_h5 *h5, const group *g, uint64_t address, int64_t i, int depth)
{
    const char *target = rer_text(&g->targets.texts, i), *quoted = RER_QUOTED(target);
    if (g->links[i].kind == HARD)
        return g->links[i].address;
    if (g->links[i].kind != SOFT)
        rer_h5_fail(h5, "is a link to another file, '%s', and not followed; name that file itself", quoted);
    else if (depth == SOFT_MAX)
        rer_h5_fail(h5, "soft links lead to soft links, the last to '%s': a circle?", quoted);
    else
        return follow(h5, target[0] == '/' ? h5->root : address, target, depth + 1);
    return RER_H5_NOWHERE;
}

/* The object that a path leads to from the group at `address`. */
static uint64_t follow(rer_h5 *h5, uint64_t address, const char *path, int depth)
{
    for (const char *at = path; h5->status == RER_OK && *at != 0;) {
        size_t length = strcspn(at, "/");
        if (length > 0 && (length != 1 || at[0] != '.')) {
            group g = {0};
            rer_h5_messages(h5, address, visit_group, &g);
            int64_t i = place_of(&g, at, length);
            if (i < 0)
                fail_missing(h5, &g, path);
            if (h5->status == RER_OK)
                address = follow_link(h5, &g, address, i, depth);
            free_group(&g);
        }
        at += length;
        at += strspn(at, "/");
    }
    return address;
}

uint64_t rer_h5_find(rer_h5 *h5, const char *path)
{
    group g = {0};
    char list[500];
    uint64_t address = h5->root;
    if (path != NULL && path[0] != 0)
        return follow(h5, address, path, 0);
    rer_h5_messages(h5, address, visit_group, &g);
    if (g.names.texts.count == 1)
        address = follow_link(h5, &g, address, 0, 0);
    else if (g.is_dense)
        rer_h5_fail(h5, "holds many data sets or groups; name one as %s:/PATH", h5->file);
    else
        rer_h5_fail(h5, "holds %lld data sets or groups; name one as %s:/PATH, of %s", (long long)g.names.texts.count,
                    h5->file, rer_texts_list(&g.names.texts, list, sizeof list));
    free_group(&g);
    return address;
}
