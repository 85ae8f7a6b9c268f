/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks over elements, runs and lanes of blocks in different orders. */
#include <cornerturn/kit/walk.h>

typedef struct {
    CtLayout layout;
    CtBlock block;
    gint32 *data;
} Piece;

/* A block of i32 in this order, each element of which has the value that its indices give:
 * 10000 t + 100 s + p. */
static void
piece_init(Piece *piece, const CtStream *stream, const char *layout)
{
    g_autoptr(GError) error = NULL;
    gint64 index[CT_MAX_AXES] = {0};
    ct_layout_parse(&piece->layout, layout, &error);
    g_assert_no_error(error);
    piece->block = (CtBlock){.type = CT_I32, .n_axes = piece->layout.n_axes};
    const gsize bytes = ct_layout_strides(&piece->layout, stream, stream->axes[0].length,
                                          piece->block.length, piece->block.stride);
    piece->data = g_malloc(bytes + 1);
    piece->block.data = (guint8 *)piece->data;
    for (gsize i = 0; i < bytes / sizeof(gint32); i++) {
        gsize left = i;
        gint32 value = 0;
        for (guint a = piece->layout.n_axes; a-- > 0; left /= (gsize)piece->block.length[a]) {
            const char *name = piece->layout.axes[a].name;
            index[a] = (gint64)(left % (gsize)piece->block.length[a]);
            value += (gint32)index[a] * (*name == 't' ? 10000 : *name == 's' ? 100 : 1);
        }
        piece->data[i] = value;
    }
}

static CtStream
stream_new(gint64 n_times, gint64 n_stations, gint64 n_pols)
{
    CtStream stream;
    ct_stream_init(&stream);
    stream.type = CT_I32;
    ct_stream_add_axis(&stream, "time", n_times);
    if (n_stations > 0)
        ct_stream_add_axis(&stream, "station", n_stations);
    if (n_pols > 0)
        ct_stream_add_axis(&stream, "pol", n_pols);
    return stream;
}

static gint32
value(const CtWalk *walk, guint b)
{
    return *(const gint32 *)walk->at[b];
}

/* All elements of three blocks, the last of which lacks an axis; from `begin` to `end` along time.
 */
static void
test_elements(void)
{
    static const gint64 ranges[][2] = {{0, 5}, {2, 4}, {3, 3}};
    CtStream whole = stream_new(5, 3, 2), less = stream_new(5, 0, 2);
    Piece a, b, c;
    piece_init(&a, &whole, "i32[station time pol]");
    piece_init(&b, &whole, "i32[pol time station]");
    piece_init(&c, &less, "i32[pol time]");
    for (guint r = 0; r < G_N_ELEMENTS(ranges); r++) {
        const gint64 begin = ranges[r][0], end = ranges[r][1];
        gint64 n = 0;
        CtWalk walk;
        ct_walk_init(&walk, &a.layout, &a.block);
        ct_walk_add(&walk, &b.layout, &b.block);
        ct_walk_add(&walk, &c.layout, &c.block);
        ct_walk_limit(&walk, "time", begin, end);
        ct_walk_limit(&walk, "beam", 7, 8); /* there is none */
        for (; ct_walk_next(&walk); n++) {
            const gint64 p = n % 2, t = begin + n / 2 % (end - begin), s = n / 2 / (end - begin);
            g_assert_cmpint(walk.index[0], ==, s);
            g_assert_cmpint(walk.index[1], ==, t);
            g_assert_cmpint(walk.index[2], ==, p);
            g_assert_cmpint(value(&walk, 0), ==, 10000 * t + 100 * s + p);
            g_assert_cmpint(value(&walk, 1), ==, value(&walk, 0));
            g_assert_cmpint(value(&walk, 2), ==, 10000 * t + p);
        }
        g_assert_cmpint(n, ==, 3 * (end - begin) * 2);
    }
    g_free(a.data);
    g_free(b.data);
    g_free(c.data);
}

/* Runs along an axis that the caller goes along itself. */
static void
test_runs(void)
{
    CtStream stream = stream_new(4, 3, 2);
    Piece a, b;
    gint64 n = 0;
    CtWalk walk;
    piece_init(&a, &stream, "i32[time station pol]");
    piece_init(&b, &stream, "i32[pol station time]");
    ct_walk_init(&walk, &a.layout, &a.block);
    ct_walk_add(&walk, &b.layout, &b.block);
    g_assert_cmpint(ct_walk_leave(&walk, 1), ==, 3);
    for (; ct_walk_next(&walk); n++)
        for (gint64 s = 0; s < 3; s++) {
            const gint64 wanted = 10000 * (n / 2) + 100 * s + n % 2;
            for (guint k = 0; k < 2; k++)
                g_assert_cmpint(*(const gint32 *)(walk.at[k] + s * walk.stride[k][1]), ==, wanted);
        }
    g_assert_cmpint(n, ==, 4 * 2);
    g_free(a.data);
    g_free(b.data);
}

/* Runs along an axis of which the walk has a part: as in a variant that is split along it. */
static void
test_parts_of_runs(void)
{
    static const gint64 ranges[][2] = {{0, 5}, {0, 2}, {2, 4}, {4, 5}};
    CtStream stream = stream_new(5, 3, 2);
    Piece a, b;
    piece_init(&a, &stream, "i32[station time pol]");
    piece_init(&b, &stream, "i32[time pol station]");
    for (guint r = 0; r < G_N_ELEMENTS(ranges); r++) {
        const gint64 begin = ranges[r][0], end = ranges[r][1];
        gint64 n = 0;
        CtWalk walk;
        ct_walk_init(&walk, &a.layout, &a.block);
        ct_walk_add(&walk, &b.layout, &b.block);
        ct_walk_limit(&walk, "time", begin, end);
        g_assert_cmpint(ct_walk_leave(&walk, 1), ==, end - begin);
        for (; ct_walk_next(&walk); n++) {
            g_assert_cmpint(walk.index[1], ==, begin);
            for (gint64 t = begin; t < end; t++)
                for (guint k = 0; k < 2; k++)
                    g_assert_cmpint(*(const gint32 *)(walk.at[k] + (t - begin) * walk.stride[k][1]),
                                    ==, 10000 * t + 100 * (n / 2) + n % 2);
        }
        g_assert_cmpint(n, ==, 3 * 2);
    }
    g_free(a.data);
    g_free(b.data);
}

/* Lanes are numbered in the order of the stream, whatever the layout. */
static void
test_lanes(void)
{
    CtStream stream = stream_new(2, 3, 2);
    Piece a;
    CtWalk walk;
    piece_init(&a, &stream, "i32[pol station time]");
    for (guint loses = 0; loses < 4; loses++) {
        stream.axes[1].loses = loses & 1;
        stream.axes[2].loses = loses >> 1;
        ct_walk_init(&walk, &a.layout, &a.block);
        ct_walk_lanes(&walk, &stream);
        while (ct_walk_next(&walk)) {
            const gint64 p = walk.index[0], s = walk.index[1];
            const gint64 wanted[] = {0, s, p, 2 * s + p};
            g_assert_cmpint(ct_walk_lane(&walk), ==, wanted[loses]);
        }
    }
    g_free(a.data);
}

/* A block without samples has no elements; one without axes has one. */
static void
test_ends(void)
{
    CtStream stream = stream_new(0, 3, 2);
    Piece a;
    CtWalk walk;
    piece_init(&a, &stream, "i32[station time pol]");
    ct_walk_init(&walk, &a.layout, &a.block);
    g_assert_false(ct_walk_next(&walk));
    const CtLayout none = {0};
    ct_walk_init(&walk, &none, &a.block);
    g_assert_true(ct_walk_next(&walk));
    g_assert_false(ct_walk_next(&walk));
    g_free(a.data);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/walk/elements", test_elements);
    g_test_add_func("/walk/runs", test_runs);
    g_test_add_func("/walk/parts-of-runs", test_parts_of_runs);
    g_test_add_func("/walk/lanes", test_lanes);
    g_test_add_func("/walk/ends", test_ends);
    return g_test_run();
}
