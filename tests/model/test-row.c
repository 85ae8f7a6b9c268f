/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of rows of layouts: parsing, checking, binding, candidates. */
#include "model/row.h"

#include <string.h>

enum { MAX_PORTS = 4 };

static CtLayout
parse_layout(const char *text)
{
    g_autoptr(GError) error = NULL;
    CtLayout layout;
    if (!ct_layout_parse(&layout, text, &error))
        g_error("%s", error->message);
    return layout;
}

static CtRowPatterns
parse_row(const char *text)
{
    g_autoptr(GError) error = NULL;
    CtRowPatterns row;
    if (!ct_row_parse(&row, text, &error))
        g_error("%s", error->message);
    return row;
}

/* ---- parsing ---- */

static void
check_sides(const char *text, gboolean any, guint n_inputs, guint n_outputs, const char *first)
{
    const CtRowPatterns row = parse_row(text);
    g_assert_cmpint(row.any, ==, any);
    g_assert_cmpuint(row.n_inputs, ==, n_inputs);
    g_assert_cmpuint(row.n_outputs, ==, n_outputs);
    g_autofree char *written = ct_layout_to_string(n_inputs ? &row.inputs[0] : &row.outputs[0]);
    g_assert_cmpstr(written, ==, first);
}

static void
test_parse(void)
{
    check_sides("ci8|cf32[... time] -> cf32[... time phase]", FALSE, 1, 1, "ci8|cf32[... time]");
    check_sides("cf32[a b],cf32[c] -> cf32[b], u32[c]", FALSE, 2, 2, "cf32[a b]");
    check_sides("-> ci8{time ...}", FALSE, 0, 1, "ci8{time ...}");
    check_sides("  ci8[...] ->  ", FALSE, 1, 0, "ci8[...]");
    check_sides("any: [...] -> [...]", TRUE, 1, 1, "[...]");
    check_sides(" any:{a ...}->{a ...}", TRUE, 1, 1, "{a ...}");
}

static void
test_malformed(void)
{
    static const struct {
        const char *text;
        gint column;
        const char *message;
    } cases[] = {
        {"ci8[time]", 9, "wants '->' between the inputs and the outputs"},
        {"", 0, "wants '->' between the inputs and the outputs"},
        {"[a] -> [b] -> [c]", 11, "'->' may stand once only"},
        {" -> ", 1, "wants a layout on one side of '->' at least"},
        {"[a], -> [b]", 5, "the layout is empty: wants one like 'ci8[time station pol]'"},
        {"[a] -> ,[b]", 7, "the layout is empty: wants one like 'ci8[time station pol]'"},
        {"[a] -> cf33[b]", 7, "unknown type 'cf33': is 'cf32' meant?"},
        {"[a, b] -> [b]", 2, "axes are separated by spaces, not by commas"},
        {"[a, [b] -> [b]", 2, "axes are separated by spaces, not by commas"},
        {"all: [a] -> [b]", 0, "unknown type 'all'"},
        {"[a] [b] -> [c]", 4, "wants nothing behind the layout, but is given '['"},
        {"[a],[a],[a],[a],[a],[a],[a],[a],[a] ->", 32, "a row has 8 ports on a side at most"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        CtRowPatterns row;
        g_assert_false(ct_row_parse(&row, cases[i].text, &error));
        g_assert_error(error, CT_ERROR, CT_ERROR_LAYOUT);
        g_autofree char *wanted = g_strdup_printf("%s\n  %s\n  %*s^", cases[i].message,
                                                  cases[i].text, cases[i].column, "");
        g_assert_cmpstr(error->message, ==, wanted);
    }
}

/* A long text is never cut within a character. */
static void
test_malformed_wide(void)
{
    for (guint shift = 0; shift < 4; shift++) {
        g_autoptr(GString) text = g_string_new(NULL);
        for (guint i = 0; i < 40; i++)
            g_string_append(text, "日");
        for (guint i = 0; i < shift; i++)
            g_string_append(text, "a");
        g_autoptr(GError) error = NULL;
        CtRowPatterns row;
        g_assert_false(ct_row_parse(&row, text->str, &error));
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
        g_assert_null(strchr(error->message, '?'));
    }
}

static void
test_check(void)
{
    static const CtPort inputs[] = {{"voltages", "ci8|cf32{time station ...}"},
                                    {"weights", "cf32{channel beam station}"},
                                    {NULL}};
    static const CtPort outputs[] = {{"beams", "cf32{time beam ...}"}, {NULL}};
    static const CtPort prepared[] = {
        {"in", "cf32{time ...}"}, {"gains", "{...}", CT_PORT_STATIC | CT_PORT_PREPARED}, {NULL}};
    static const CtPort none[] = {{NULL}}, broken[] = {{"out", "cf33[...]"}, {NULL}};
    static const struct {
        const char *row;
        const CtPort *inputs, *outputs;
        const char *message;
    } cases[] = {
        {"cf32[... time station], cf32[channel beam station] -> cf32[beam ... time]", inputs,
         outputs, NULL},
        {"i8[station complex ...], cf32{channel beam station} -> {...}", inputs, outputs, NULL},
        {"cf32{...} -> cf32{...}", prepared, outputs, NULL},
        {"cf32{...}, cf32{...} -> cf32{...}", prepared, outputs,
         "wants a layout for each of 1 input ports, but is given 2"},
        {"-> cf32{...}", none, outputs, NULL},
        {"-> cf32{...}", NULL, outputs, NULL},
        {"cf32{...} ->", outputs, NULL, NULL},
        {"cf32{...} -> cf32{...}", inputs, outputs,
         "wants a layout for each of 2 input ports, but is given 1"},
        {"cf32{...} -> cf32{...}", outputs, none,
         "wants a layout for each of 0 output ports, but is given 1"},
        {"i16[time station complex], [channel beam station] -> [...]", inputs, outputs,
         "input 'voltages' wants types of ci8|cf32{time station ...}, but is given i16[time "
         "station complex]"},
        {"[statoin ...], [channel beam station pol] -> [...]", inputs, outputs,
         "input 'weights' is cf32{channel beam station}, which never meets [channel beam station "
         "pol]: only one has a place for 'pol'"},
        {"{...}, {...} -> {time channel}", inputs, outputs,
         "output 'beams' is cf32{time beam ...}, which never meets {time channel}: only one has a "
         "place for 'beam'"},
        {"-> [...]", NULL, broken,
         "output 'out': unknown type 'cf33': is 'cf32' meant?\n  cf33[...]\n  ^"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        const CtRowPatterns row = parse_row(cases[i].row);
        const gboolean fits = ct_row_check(&row, cases[i].inputs, cases[i].outputs, &error);
        g_assert_cmpstr(error ? error->message : NULL, ==, cases[i].message);
        g_assert_cmpint(fits, ==, cases[i].message == NULL);
    }
}

/* ---- binding ---- */

/* The ports of a node, from texts: "ci8 time station" is a stream, "" a port that is not
 * connected. */
typedef struct {
    CtStream streams[MAX_PORTS];
    CtLayout wishes[MAX_PORTS];
    CtRowPort ports[MAX_PORTS];
    CtRowPorts all;
} Node;

static void
node_init(Node *node, guint n_inputs, const char *const streams[MAX_PORTS],
          const char *const wishes[MAX_PORTS])
{
    static const char *const names[] = {"p0", "p1", "p2", "p3"};
    *node = (Node){.all.n_inputs = n_inputs, .all.ports = node->ports};
    guint n = 0;
    for (; n < MAX_PORTS && streams[n]; n++) {
        CtStream *stream = &node->streams[n];
        ct_stream_init(stream);
        g_auto(GStrv) words = g_strsplit(streams[n], " ", -1);
        for (guint i = 0; words[i]; i++) {
            if (i == 0)
                stream->type = ct_type_from_name(words[i]);
            else
                ct_stream_add_axis(stream, words[i], 4);
        }
        if (wishes && wishes[n])
            node->wishes[n] = parse_layout(wishes[n]);
        node->ports[n] = (CtRowPort){names[n], stream, &node->wishes[n]};
    }
    node->all.n_outputs = n - n_inputs;
}

static void
node_clear(Node *node)
{
    for (guint p = 0; p < MAX_PORTS; p++)
        ct_stream_clear(&node->streams[p]);
}

static char *
layouts_to_string(const CtLayout *layouts, guint n)
{
    GString *text = g_string_new(NULL);
    for (guint p = 0; p < n; p++) {
        g_autofree char *one = ct_layout_to_string(&layouts[p]);
        g_string_append_printf(text, "%s%s", p ? ", " : "", layouts[p].n_axes ? one : "-");
    }
    return g_string_free(text, FALSE);
}

#define CORRELATE                                                                                  \
    "ci8|cf32{time channel station ...} -> cf32{time channel baseline ...}, u32{time baseline "    \
    "...}"
#define VISIBILITIES "cf32 time channel baseline pol pol'"

static const struct {
    const char *row;
    guint n_inputs;
    const char *streams[MAX_PORTS];
    const char *wishes[MAX_PORTS];
    guint known_port;
    const char *known;
    const char *like;
    const char *wanted; /* the layouts, or the message */
} bindings[] = {
    /* Both sides have one order; new axes take the places of consumed ones, pol' comes after
     * pol. */
    {CORRELATE,
     1,
     {"ci8 time channel station pol", VISIBILITIES, "u32 time baseline"},
     .wanted = "ci8[time channel station pol], cf32[time channel baseline pol pol'], "
               "u32[time baseline]"},
    {CORRELATE,
     1,
     {"ci8 time channel station pol", VISIBILITIES, "u32 time baseline"},
     .known = "ci8[pol station time channel]",
     .wanted = "ci8[pol station time channel], cf32[pol pol' baseline time channel], "
               "u32[baseline time]"},
    {CORRELATE,
     1,
     {"ci8 time channel station pol", VISIBILITIES, "u32 time baseline"},
     .known = "cf32[channel pol pol' baseline time]",
     .known_port = 1,
     .wanted = "ci8[channel pol station time], cf32[channel pol pol' baseline time], "
               "u32[baseline time]"},
    {CORRELATE,
     1,
     {"ci8 time channel station pol", VISIBILITIES, "u32 time baseline"},
     .known = "cf32[pol' time channel baseline pol]",
     .known_port = 1,
     .wanted = "ci8[time channel station pol], cf32[pol' time channel baseline pol], "
               "u32[time baseline]"},
    {CORRELATE,
     1,
     {"ci8 time channel station pol", VISIBILITIES, "u32 time baseline"},
     .known = "u32[baseline time]",
     .known_port = 2,
     .wanted = "ci8[channel station time pol], cf32[channel baseline time pol pol'], "
               "u32[baseline time]"},
    {CORRELATE,
     1,
     {"ci8 time channel station", "", "u32 time baseline"},
     .known = "ci8[station time channel]",
     .wanted = "ci8[station time channel], -, u32[baseline time]"},
    {CORRELATE,
     1,
     {"ci8 time channel station pol", VISIBILITIES, ""},
     .known = "ci8[station pol time channel]",
     .like = "[time channel baseline pol pol']",
     .wanted = "ci8[station pol time channel], cf32[baseline pol pol' time channel], -"},
    {"cf32{phase ...} -> cf32{channel ...}",
     1,
     {"cf32 time phase pol", "cf32 time channel pol"},
     .known = "cf32[channel pol time]",
     .known_port = 1,
     .wanted = "cf32[phase pol time], cf32[channel pol time]"},
    {"cf32{pol ...} -> f32{stokes ...}",
     1,
     {"cf32 time channel pol", "f32 time channel stokes"},
     .known = "cf32[pol time channel]",
     .wanted = "cf32[pol time channel], f32[stokes time channel]"},
    {"cf32{...} -> cf32{...}",
     1,
     {"cf32 time lag", "cf32 time channel"},
     .known = "cf32[lag time]",
     .wanted = "cf32[lag time], cf32[channel time]"},
    {"cf32{time ...} -> cf32{time phase ...}",
     1,
     {"cf32 time pol", "cf32 time phase pol"},
     .known = "cf32[pol time]",
     .wanted = "cf32[pol time], cf32[pol time phase]"},
    {"cf32{time ...} -> cf32{time phase ...}",
     1,
     {"cf32 time pol", "cf32 time phase pol"},
     .like = "[pol phase time]",
     .wanted = "cf32[pol time], cf32[pol phase time]"},
    /* `...` is in the same order on both sides, whatever surrounds it. */
    {"ci8[... time] -> cf32[phase ... time]",
     1,
     {"ci8 time subband station pol", "cf32 time subband phase station pol"},
     .known = "cf32[phase pol subband station time]",
     .known_port = 1,
     .wanted = "ci8[pol subband station time], cf32[phase pol subband station time]"},
    {"ci8[time ...] -> cf32[... time phase]",
     1,
     {"ci8 time station pol", "cf32 time phase station pol"},
     .known = "ci8[time pol station]",
     .wanted = "ci8[time pol station], cf32[pol station time phase]"},
    /* With several inputs, beam takes the place of station although an input has both. */
    {"cf32{time station ...}, cf32{beam station ...} -> cf32{time beam ...}",
     2,
     {"cf32 time channel station pol", "cf32 channel beam station", "cf32 time channel beam pol"},
     .known = "cf32[pol station channel time]",
     .wanted = "cf32[pol station channel time], cf32[beam station channel], "
               "cf32[pol beam channel time]"},
    {"cf32[channel time station pol], cf32[channel beam station] -> cf32[channel time beam pol]",
     2,
     {"cf32 time channel station pol", "", "cf32 time channel beam pol"},
     .wanted = "cf32[channel time station pol], -, cf32[channel time beam pol]"},
    {"{...} -> {...}",
     3,
     {"ci8 time pol", "ci8 time pol", "ci8 time pol", "ci8 time station pol"},
     .known = "ci8[pol time]",
     .known_port = 1,
     .wanted = "ci8[pol time], ci8[pol time], ci8[pol time], ci8[pol time station]"},
    /* Layouts that the graph wishes for. */
    {"cf32{...} ->",
     1,
     {"cf32 time channel pol"},
     {"[pol ... time]"},
     .wanted = "cf32[pol channel time]"},
    {"-> ci8|ci16{...}",
     0,
     {"ci16 time channel pol"},
     {"ci16{pol time channel}"},
     .wanted = "ci16[time channel pol]"},
    {"-> ci8|ci16{...}",
     0,
     {"ci16 time channel pol"},
     {"[channel ...]"},
     .wanted = "ci16[channel time pol]"},
    {CORRELATE,
     1,
     {"ci8 time channel station pol", VISIBILITIES, "u32 time baseline"},
     {NULL, "[baseline time channel ...]"},
     .wanted = "ci8[station time channel pol], cf32[baseline time channel pol pol'], "
               "u32[baseline time]"},
    {CORRELATE,
     1,
     {"ci8 time channel station pol", VISIBILITIES, ""},
     {NULL, "[time ...]"},
     .known = "ci8[time station channel pol]",
     .wanted = "ci8[time station channel pol], cf32[time baseline channel pol pol'], -"},
    /* The type is the stream's own, else the narrowest without loss. */
    {"ci16|cf32[...] -> cf32[...]",
     1,
     {"ci8 time", "cf32 time"},
     .wanted = "ci16[time], cf32[time]"},
    {"cf32[...] -> cf32[...]", 1, {"ci4 time", "cf32 time"}, .wanted = "cf32[time], cf32[time]"},
    {"ci8|cf32[...] ->", 1, {"ci8 time"}, {"cf32[...]"}, .wanted = "cf32[time]"},
    {"[...] -> [...]", 1, {"u8 time", "u8 time"}, .wanted = "u8[time], u8[time]"},
    {"cf32[...] -> cf32[...]",
     1,
     {"ci8 time", "cf32 time"},
     .known = "cf32[time]",
     .wanted = "cf32[time], cf32[time]"},
    {"i16|f32[... complex] -> cf32[...]",
     1,
     {"ci8 time pol", "cf32 time pol"},
     .wanted = "i16[time pol complex], cf32[time pol]"},
    /* `complex` innermost is the same as the complex type; blocks are named. */
    {"i8[... complex] -> cf32{...}",
     1,
     {"ci8 time pol", "cf32 time pol"},
     .known = "ci8[pol time]",
     .wanted = "i8[pol time complex], cf32[pol time]"},
    {"i8[channel time pol complex time:4] -> cf32{...}",
     1,
     {"ci8 time channel pol", "cf32 time channel pol"},
     .wanted = "i8[channel time pol complex time:4], cf32[time channel pol]"},
    {"ci8{time ... time:16} -> cf32{...}",
     1,
     {"ci8 time channel pol", "cf32 time channel pol"},
     .known = "ci8[pol channel time time:16]",
     .wanted = "ci8[pol channel time time:16], cf32[pol channel time]"},
    /* Rows whose ports have independent orders. */
    {"any: [...] -> [...]",
     1,
     {"ci8 time channel pol", "ci8 time channel pol"},
     .known = "ci8[pol channel time]",
     .wanted = "ci8[pol channel time], ci8[pol channel time]"},
    {"any: [...] -> [...]",
     1,
     {"ci8 time channel pol", "ci8 time channel pol"},
     {NULL, "[... time channel time:16]"},
     .known = "i8[pol complex time channel]",
     .wanted = "i8[pol complex time channel], ci8[pol time channel time:16]"},
    {"any: {...} -> {...}",
     1,
     {"ci8 time channel pol", "ci8 time channel pol"},
     {"[time ...]", "[pol ...]"},
     .wanted = "ci8[time channel pol], ci8[pol time channel]"},
    {"any: {time ...} -> {time ...}",
     1,
     {"ci8 time pol", "ci8 time pol"},
     .known = "ci8[pol time time:4]",
     .wanted = "input 'p0' wants {time ...}, but is given ci8[pol time time:4]"},
    /* Layouts that do not fit. */
    {"[...] -> [...]",
     1,
     {"ci8 time pol", "ci8 time pol"},
     .known = "ci8[pol time time:4]",
     .wanted = "input 'p0' wants [...], but is given ci8[pol time time:4]"},
    {"[... time] -> [...]",
     1,
     {"ci8 time pol", "ci8 time pol"},
     .known = "ci8[time pol]",
     .wanted = "input 'p0' wants [... time], but is given ci8[time pol]"},
    {"[...] -> [...]",
     1,
     {"ci8 time pol", "ci8 time pol"},
     .known = "ci8[time]",
     .wanted = "input 'p0': ci8[time] has no place for the axis 'pol': it is given time 4, pol 4"},
    {"[time pol] -> [time pol]",
     1,
     {"ci8 time pol", "ci8 time beam"},
     .wanted = "output 'p1': [time pol] wants an axis 'pol', but is given time 4, beam 4"},
    {"{...} -> {...}",
     1,
     {"ci8 time pol", "ci8 time pol"},
     {NULL, "[time pol]"},
     .known = "ci8[pol time]",
     .wanted = "the ports want orders of the axes that contradict one another"},
    {"{...} -> {...}",
     1,
     {"ci8 time pol", "ci8 time pol"},
     {"[time pol]"},
     .known = "ci8[pol time]",
     .wanted = "input 'p0' wants [time pol], but is given ci8[pol time]"},
    {"{...} -> [time pol]",
     1,
     {"ci8 time pol", "ci8 time pol"},
     {NULL, "[pol time]"},
     .wanted = "output 'p1' wants [pol time], but is given ci8[time pol]"},
    {"{station ...}, {beam station} -> {beam ...}",
     2,
     {"ci8 time station", "ci8 beam station", "ci8 time beam"},
     .known = "ci8[station beam]",
     .known_port = 1,
     .wanted = "input 'p1' wants ci8[beam station], but is given ci8[station beam]"},
    {"ci16[...] -> [...]",
     1,
     {"cf32 time", "cf32 time"},
     .wanted = "input 'p0' wants ci16[...], but is given cf32"},
    {"cf32[...] -> cf32[...]",
     1,
     {"cf32 time", "ci8 time"},
     .wanted = "output 'p1' wants cf32[...], but is given ci8"},
    {"[...] -> [...]",
     1,
     {"cf32 time", "ci8 time"},
     {NULL, "cf32[...]"},
     .wanted = "output 'p1' wants cf32[...], but is given ci8"},
    {"[...], [...] -> [...]",
     1,
     {"ci8 time", "ci8 time"},
     .wanted = "the row has 2 inputs and 1 outputs, but the node has 1 and 1"},
};

static void
test_bind(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(bindings); i++) {
        Node node;
        node_init(&node, bindings[i].n_inputs, bindings[i].streams, bindings[i].wishes);
        const CtRowPatterns row = parse_row(bindings[i].row);
        const CtLayout known = bindings[i].known ? parse_layout(bindings[i].known) : (CtLayout){0};
        const CtLayout like = bindings[i].like ? parse_layout(bindings[i].like) : (CtLayout){0};
        const guint n = node.all.n_inputs + node.all.n_outputs;
        g_autoptr(GError) error = NULL;
        CtLayout layouts[MAX_PORTS] = {0};
        const gboolean fits =
            ct_row_bind(&row, &node.all, bindings[i].known_port, bindings[i].known ? &known : NULL,
                        bindings[i].like ? &like : NULL, layouts, &error);
        g_autofree char *given = fits ? layouts_to_string(layouts, n) : g_strdup(error->message);
        g_test_message("%s, %s", bindings[i].row, bindings[i].known);
        g_assert_cmpstr(given, ==, bindings[i].wanted);
        g_assert_true(fits || layouts[0].n_axes == 0);
        node_clear(&node);
    }
}

static void
test_too_many_axes(void)
{
    CtStream streams[7];
    CtRowPort ports[7];
    for (guint p = 0; p < G_N_ELEMENTS(ports); p++) {
        ct_stream_init(&streams[p]);
        streams[p].type = CT_CI8;
        for (guint a = 0; a < CT_MAX_AXES; a++) {
            g_autofree char *name = g_strdup_printf("axis_%u_%u", p, a);
            ct_stream_add_axis(&streams[p], name, 1);
        }
        ports[p] = (CtRowPort){"link", &streams[p], NULL};
    }
    const CtRowPatterns row = parse_row("{...} ->");
    const CtRowPorts all = {G_N_ELEMENTS(ports), 0, ports};
    CtLayout layouts[G_N_ELEMENTS(ports)];
    g_autoptr(GError) error = NULL;
    g_assert_false(ct_row_bind(&row, &all, 0, NULL, NULL, layouts, &error));
    g_assert_cmpstr(error->message, ==, "a node's ports have 64 different axes at most");
    for (guint p = 0; p < G_N_ELEMENTS(ports); p++)
        ct_stream_clear(&streams[p]);
}

/* Binding from one end and from the other gives the same layouts, in each of the 24 orders. */
static void
test_all_orders(void)
{
    Node node;
    node_init(&node, 1,
              (const char *const[MAX_PORTS]){"ci8 time channel station pol", VISIBILITIES}, NULL);
    const CtRowPatterns row =
        parse_row("ci8{time channel station pol} -> cf32{time channel baseline pol pol'}");
    const CtLayout canonical = parse_layout("ci8[time channel station pol]");
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    while (g_hash_table_size(seen) < 24) {
        CtLayout known = canonical;
        for (guint i = 4; i-- > 1;) {
            const guint j = g_test_rand_int_range(0, i + 1);
            const CtLayoutAxis axis = known.axes[i];
            known.axes[i] = known.axes[j];
            known.axes[j] = axis;
        }
        g_hash_table_add(seen, ct_layout_to_string(&known));
        CtLayout there[2], back[2];
        g_assert_true(ct_row_bind(&row, &node.all, 0, &known, NULL, there, NULL));
        g_assert_true(ct_layout_equal(&there[0], &known));
        g_assert_true(ct_layout_matches(&row.outputs[0], &there[1]));
        g_assert_true(ct_row_bind(&row, &node.all, 1, &there[1], NULL, back, NULL));
        g_assert_true(ct_layout_equal(&back[0], &known));
        g_assert_true(ct_layout_equal(&back[1], &there[1]));
        g_assert_cmpint(ct_layout_axis(&there[1], "pol'"), ==,
                        ct_layout_axis(&there[1], "pol") + 1);
    }
    node_clear(&node);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/row/parse", test_parse);
    g_test_add_func("/row/malformed", test_malformed);
    g_test_add_func("/row/malformed-wide", test_malformed_wide);
    g_test_add_func("/row/check", test_check);
    g_test_add_func("/row/bind", test_bind);
    g_test_add_func("/row/too-many-axes", test_too_many_axes);
    g_test_add_func("/row/all-orders", test_all_orders);
    return g_test_run();
}
