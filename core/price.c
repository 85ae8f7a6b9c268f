/* SPDX-License-Identifier: BSD-3-Clause */
/* What an arrangement costs: what the store knows of it, of one that is near to it, else the model.
 *
 * The store is read once, and what it says is parsed then. A price that was found is kept, by a
 * hash of all that decides it, for the same bridges are asked for many times. */
#include "price-private.h"
#include "row.h"
#include "tuning.h"

#include <math.h>
#include <string.h>

const char *const ct_origin_names[CT_N_ORIGINS] = {
    [CT_ORIGIN_MODEL] = "model",
    [CT_ORIGIN_NEAREST] = "nearest",
    [CT_ORIGIN_SHIPPED] = "shipped",
    [CT_ORIGIN_MEASURED] = "measured",
};

/* What is that far is not taken for near; about a factor of 50 in all lengths together. */
static const gdouble farthest = 4;

/* Distances of what differs, beside the logarithms of lengths. */
static const gdouble distance_of_code = 0.05;
static const gdouble distance_of_shipped = 0.2;
static const gdouble distance_of_orders = 2;
static const gdouble share_of_workers = 0.2; /* of the logarithm */
static const gdouble share_of_aim = 0.2;

/* So many times what the model says: nothing else is as dear, and it can still be chosen where
 * nothing else is left. */
static const gdouble failed = 1e6;

typedef struct {
    gint64 tuning[CT_MAX_TUNABLES];
    gdouble seconds; /* per sample */
    gdouble spread;
} Trial;

/* All trials of one arrangement on one machine, by one code. */
typedef struct {
    const CtRow *row;
    const char *way;
    guint n_ports;
    CtLayout *layouts;              /* [n_ports] inputs, then outputs; empty: not connected */
    gint64 (*lengths)[CT_MAX_AXES]; /* [n_ports] */
    char *parameters;
    const char *machine; /* interned */
    gint64 n_workers;
    gint64 aim;
    gboolean is_shipped;
    gboolean is_code;    /* the very code that is loaded */
    CtLoad load;         /* for one sample a second */
    GArray *trials;      /* of Trial, the best first, the failures not among them */
    const char *failure; /* of one of these, interned */
} Setting;

struct CtPrices {
    const CtMachine *machine;
    const CtRegistry *registry;
    const char **machines; /* [1 + devices] their names, interned, the host's first */
    gint64 aim;
    GHashTable *settings; /* variant → GPtrArray of Setting */
    GHashTable *codes;    /* file → its checksum */
    GHashTable *found;    /* hash → CtPrice */
    char *warning;
};

static void
setting_free(gpointer data)
{
    Setting *setting = data;
    g_free(setting->layouts);
    g_free(setting->lengths);
    g_free(setting->parameters);
    g_array_unref(setting->trials);
    g_free(setting);
}

static const char *
machine_at(const CtPrices *prices, gint place)
{
    return prices->machines[place + 1];
}

/* Checksum of the file that the variant came from; the core's own has none. */
static const char *
code_of(CtPrices *prices, const CtVariant *variant)
{
    const char *file = ct_registry_variant_file(prices->registry, variant);
    const char *known = g_hash_table_lookup(prices->codes, file);
    if (known)
        return known;
    g_autofree char *bytes = NULL;
    gsize n;
    char *code = g_strdup("");
    if (g_file_get_contents(file, &bytes, &n, NULL)) {
        g_free(code);
        g_autofree char *sum =
            g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, n);
        code = g_strndup(sum, 16);
    }
    g_hash_table_insert(prices->codes, g_strdup(file), code);
    return code;
}

void
ct_price_key(CtPrices *prices, const CtPriced *what, const gint64 *tuning, CtMeasurement *key)
{
    const gint place = ct_price_place(what);
    *key = (CtMeasurement){
        .stages = ct_price_stages(what->variant),
        .variant = g_strdup(what->variant->name),
        .row = g_strdup(what->row->layouts),
        .way = g_strdup(ct_price_way(what->from, what->to)),
        .layouts = ct_price_layouts(what),
        .lengths = ct_price_lengths(what),
        .parameters = ct_price_parameters(what),
        .tuning = ct_tuning_to_string(what->variant, tuning, FALSE),
        .machine = g_strdup(machine_at(prices, place)),
        .n_workers = place == CT_HOST ? prices->machine->n_workers : 0,
        .aim = place == CT_HOST ? prices->aim : (gint64)prices->machine->device_bytes,
        .code = g_strdup(code_of(prices, what->variant)),
        .operations = what->load->operations,
        .bytes = what->load->bytes,
    };
}

/* ---- from the store ---- */

/* The ports of one side; FALSE where the texts are not what ct_price_key writes. */
static gboolean
parse_side(Setting *setting, const char *layouts, const char *lengths)
{
    g_auto(GStrv) all_layouts = g_strsplit(layouts, ", ", -1);
    g_auto(GStrv) all_lengths = g_strsplit(lengths, ", ", -1);
    const guint n = g_strv_length(all_layouts);
    if (g_strv_length(all_lengths) != n)
        return FALSE;
    setting->layouts = g_renew(CtLayout, setting->layouts, setting->n_ports + n);
    setting->lengths =
        g_realloc_n(setting->lengths, setting->n_ports + n, sizeof(gint64[CT_MAX_AXES]));
    for (guint i = 0; i < n; i++) {
        CtLayout *layout = &setting->layouts[setting->n_ports];
        gint64 *length = setting->lengths[setting->n_ports];
        char *at = all_lengths[i];
        *layout = (CtLayout){0};
        setting->n_ports++;
        if (!g_str_equal(all_layouts[i], "-") && !ct_layout_parse(layout, all_layouts[i], NULL))
            return FALSE;
        for (guint a = 0; a < layout->n_axes; a++)
            length[a] = g_ascii_strtoll(at, &at, 10);
    }
    return TRUE;
}

static gboolean
parse_ports(Setting *setting, const CtMeasurement *measurement)
{
    g_auto(GStrv) layouts = g_strsplit(measurement->layouts, " -> ", 2);
    g_auto(GStrv) lengths = g_strsplit(measurement->lengths, " -> ", 2);
    return g_strv_length(layouts) == 2 && g_strv_length(lengths) == 2 &&
           parse_side(setting, layouts[0], lengths[0]) &&
           parse_side(setting, layouts[1], lengths[1]);
}

static const CtRow *
find_row(const CtVariant *variant, const char *layouts)
{
    for (const CtRow *row = variant->rows; row && row->layouts; row++) {
        if (g_str_equal(row->layouts, layouts))
            return row;
    }
    return NULL;
}

static const char *
find_way(const char *way)
{
    static const char *const ways[] = {"", "to device", "to host", "to peer"};
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        if (g_str_equal(ways[i], way))
            return ways[i];
    }
    return NULL;
}

/* NULL where the variant has changed so much that it says nothing any more. */
static Setting *
setting_new(CtPrices *prices, const CtVariant *variant, const CtMeasurement *measurement,
            gboolean is_shipped)
{
    const CtRow *row = find_row(variant, measurement->row);
    const char *way = find_way(measurement->way);
    if (!row || !way)
        return NULL;
    Setting *setting = g_new0(Setting, 1);
    setting->row = row;
    setting->way = way;
    setting->parameters = g_strdup(measurement->parameters);
    setting->machine = g_intern_string(measurement->machine);
    setting->n_workers = measurement->n_workers;
    setting->aim = measurement->aim;
    setting->is_shipped = is_shipped;
    setting->is_code = g_str_equal(measurement->code, code_of(prices, variant));
    setting->load = (CtLoad){measurement->operations, measurement->bytes, 1};
    setting->trials = g_array_new(FALSE, FALSE, sizeof(Trial));
    if (parse_ports(setting, measurement))
        return setting;
    setting_free(setting);
    return NULL;
}

static gint
compare_trials(gconstpointer a, gconstpointer b)
{
    const gdouble x = ((const Trial *)a)->seconds, y = ((const Trial *)b)->seconds;
    return x < y ? -1 : x > y;
}

static void
add_trial(Setting *setting, const CtVariant *variant, const CtMeasurement *measurement)
{
    Trial trial = {.seconds = measurement->seconds, .spread = measurement->spread};
    ct_tuning_defaults(variant, trial.tuning);
    if (*measurement->tuning && !ct_tuning_parse(variant, measurement->tuning, trial.tuning, NULL))
        return;
    if (measurement->failure) {
        setting->failure = g_intern_string(measurement->failure);
    } else if (measurement->seconds > 0) {
        g_array_append_val(setting->trials, trial);
        g_array_sort(setting->trials, compare_trials);
    }
}

/* Sorts the measurements by variant and, all tunings of one together, by what was measured. */
static void
add_measurements(CtPrices *prices, GHashTable *variants, const GPtrArray *measurements,
                 gboolean is_shipped)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < measurements->len; i++) {
        const CtMeasurement *measurement = g_ptr_array_index(measurements, i);
        g_autofree char *name = g_strconcat(measurement->stages, ":", measurement->variant, NULL);
        const CtVariant *variant = g_hash_table_lookup(variants, name);
        if (!variant)
            continue;
        g_autofree char *key = g_strdup_printf(
            "%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%" G_GINT64_FORMAT "\n%" G_GINT64_FORMAT, name,
            measurement->row, measurement->way, measurement->layouts, measurement->lengths,
            measurement->parameters, measurement->machine, measurement->code,
            measurement->n_workers, measurement->aim);
        Setting *setting = g_hash_table_lookup(known, key);
        if (!setting) {
            setting = setting_new(prices, variant, measurement, is_shipped);
            if (!setting)
                continue;
            GPtrArray *settings = g_hash_table_lookup(prices->settings, variant);
            if (!settings) {
                settings = g_ptr_array_new_with_free_func(setting_free);
                g_hash_table_insert(prices->settings, (gpointer)variant, settings);
            }
            g_ptr_array_add(settings, setting);
            g_hash_table_insert(known, g_steal_pointer(&key), setting);
        }
        add_trial(setting, variant, measurement);
    }
}

/* "fir+fft:cpu" → variant, of all that the graph may have; and what they cover, NULL-terminated. */
static GHashTable *
find_variants(const CtGraph *graph, const CtRegistry *registry, GPtrArray *stages)
{
    static const char *const bridges[] = {"transpose", "convert", "copy"};
    GHashTable *variants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < graph->nodes->len + G_N_ELEMENTS(bridges); i++) {
        const char *stage =
            i < graph->nodes->len
                ? ((const CtGraphNode *)g_ptr_array_index(graph->nodes, i))->node.stage->name
                : bridges[i - graph->nodes->len];
        const GPtrArray *own = ct_registry_variants(registry, stage);
        for (guint v = 0; v < own->len; v++) {
            const CtVariant *variant = g_ptr_array_index(own, v);
            g_autofree char *covers = ct_price_stages(variant);
            g_hash_table_insert(variants, g_strconcat(covers, ":", variant->name, NULL),
                                (gpointer)variant);
            if (!g_ptr_array_find_with_equal_func(stages, covers, g_str_equal, NULL))
                g_ptr_array_add(stages, g_steal_pointer(&covers));
        }
    }
    g_ptr_array_add(stages, NULL);
    return variants;
}

static gboolean
read_store(CtPrices *prices, GHashTable *variants, const char *const *stages, const char *path,
           GError **error)
{
    g_autoptr(CtStore) store = ct_store_open(path, FALSE, error);
    g_autoptr(GPtrArray) measurements = store ? ct_store_list(store, stages, error) : NULL;
    if (!measurements)
        return FALSE;
    add_measurements(prices, variants, measurements, FALSE);
    return TRUE;
}

CtPrices *
ct_prices_new(CtMachine *machine, const CtGraph *graph, const CtRegistry *registry,
              const char *costs, gsize aim)
{
    CtPrices *prices = g_new0(CtPrices, 1);
    prices->machine = machine;
    prices->registry = registry;
    prices->aim = (gint64)aim;
    prices->machines = g_new(const char *, machine->n_devices + 1);
    for (gint place = CT_HOST; place < (gint)machine->n_devices; place++)
        prices->machines[place + 1] = ct_machine_name(machine, place);
    prices->settings = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
    prices->codes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    prices->found = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);

    g_autofree char *path = ct_store_path(costs);
    g_autoptr(GPtrArray) stages = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) variants = find_variants(graph, registry, stages);
    g_autoptr(GError) error = NULL;
    if (path && !read_store(prices, variants, (const char *const *)stages->pdata, path, &error))
        prices->warning = g_strdup_printf("%s; costs are modelled", error->message);
    return prices;
}

void
ct_prices_free(CtPrices *prices)
{
    if (!prices)
        return;
    g_hash_table_unref(prices->settings);
    g_hash_table_unref(prices->codes);
    g_hash_table_unref(prices->found);
    g_free(prices->machines);
    g_free(prices->warning);
    g_free(prices);
}

const char *
ct_prices_warning(const CtPrices *prices)
{
    return prices->warning;
}

/* ---- the nearest ---- */

/* What is priced, in the words of settings. */
typedef struct {
    const CtPriced *what;
    const char *way;
    const char *machine;
    gint64 n_workers, aim;
    guint n_ports;
    const CtLayout **layouts;       /* [n_ports] */
    gint64 (*lengths)[CT_MAX_AXES]; /* [n_ports] */
    char *parameters;
} Question;

static void
question_clear(Question *question)
{
    g_free(question->layouts);
    g_free(question->lengths);
    g_free(question->parameters);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Question, question_clear)

static void
question_init(Question *question, const CtPrices *prices, const CtPriced *what)
{
    const CtNode *first = &what->nodes[0], *last = &what->nodes[what->n_nodes - 1];
    const gint place = ct_price_place(what);
    const guint n = first->n_inputs + last->n_outputs;
    *question = (Question){
        .what = what,
        .way = ct_price_way(what->from, what->to),
        .machine = machine_at(prices, place),
        .n_workers = place == CT_HOST ? prices->machine->n_workers : 0,
        .aim = place == CT_HOST ? prices->aim : (gint64)prices->machine->device_bytes,
        .n_ports = n,
        .layouts = g_new(const CtLayout *, n + 1),
        .lengths = g_malloc0_n(n + 1, sizeof(*question->lengths)),
        .parameters = ct_price_parameters(what),
    };
    for (guint p = 0; p < n; p++) {
        const gboolean is_input = p < first->n_inputs;
        const guint i = is_input ? p : p - first->n_inputs;
        const CtLayout *layout = is_input ? &what->inputs[i] : &what->outputs[i];
        question->layouts[p] = layout;
        for (guint a = 0; a < layout->n_axes; a++)
            question->lengths[p][a] =
                ct_price_length(is_input ? &first->inputs[i] : &last->outputs[i], &layout->axes[a]);
    }
}

/* The axis of the same name and block; −1: none. */
static gint
same_axis(const CtLayout *layout, const CtLayoutAxis *axis)
{
    for (guint a = 0; a < layout->n_axes; a++) {
        if (layout->axes[a].name == axis->name && layout->axes[a].count == axis->count)
            return (gint)a;
    }
    return -1;
}

static gdouble
ratio_distance(gint64 a, gint64 b)
{
    return a == b ? 0 : a <= 0 || b <= 0 ? HUGE_VAL : fabs(log((gdouble)a / (gdouble)b));
}

/* HUGE_VAL where the two have not the same axes and types. */
static gdouble
ports_distance(const Setting *setting, const Question *question)
{
    gdouble sum = 0, orders = 0;
    if (setting->n_ports != question->n_ports)
        return HUGE_VAL;
    for (guint p = 0; p < setting->n_ports; p++) {
        const CtLayout *known = &setting->layouts[p], *asked = question->layouts[p];
        if (known->n_axes != asked->n_axes || known->types != asked->types)
            return HUGE_VAL;
        for (guint a = 0; a < asked->n_axes; a++) {
            const gint k = same_axis(known, &asked->axes[a]);
            if (k < 0)
                return HUGE_VAL;
            if (k != (gint)a)
                orders = distance_of_orders;
            sum += ratio_distance(setting->lengths[p][k], question->lengths[p][a]);
        }
    }
    return sum + orders;
}

/* 0: it is the very same. */
static gdouble
distance(const Setting *setting, const Question *question)
{
    if (setting->row != question->what->row || setting->way != question->way ||
        setting->machine != question->machine)
        return HUGE_VAL;
    const gdouble ports = ports_distance(setting, question);
    if (ports > farthest)
        return HUGE_VAL;
    return ports + ct_price_parameters_distance(setting->parameters, question->parameters) +
           share_of_workers * ratio_distance(setting->n_workers, question->n_workers) +
           share_of_aim * ratio_distance(setting->aim, question->aim) +
           (setting->is_code ? 0 : distance_of_code) +
           (setting->is_shipped ? distance_of_shipped : 0);
}

/* Seconds per sample at the roof. */
static gdouble
roof_of(const CtPrices *prices, const CtPriced *what, const CtLoad *load)
{
    const CtLoad one = {load->operations, load->bytes, 1};
    return ct_cost_roof_seconds(prices->machine, what->variant, what->row, &one,
                                ct_price_place(what));
}

/* How much longer it takes than the roof says. */
static gdouble
share_of_roof(const CtPrices *prices, const Setting *setting, const CtPriced *what, gdouble seconds)
{
    const gdouble roof = roof_of(prices, what, &setting->load);
    return roof > 0 ? seconds / roof : 0;
}

/* The trial of this tuning, if one is asked for, else of the best. */
static const Trial *
find_trial(const Setting *setting, const CtPriced *what, gboolean *is_asked)
{
    *is_asked = TRUE;
    for (guint i = 0; i < setting->trials->len; i++) {
        const Trial *trial = &g_array_index(setting->trials, Trial, i);
        if (!what->tuning || ct_tuning_equal(what->variant, trial->tuning, what->tuning))
            return trial;
    }
    *is_asked = FALSE;
    return setting->trials->len ? &g_array_index(setting->trials, Trial, 0) : NULL;
}

/* The nearest; of those that differ in their orders alike, the slowest: what is not known must not
 * look better than what is. */
static const Setting *
find_nearest(const CtPrices *prices, const GPtrArray *settings, const Question *question,
             gdouble *nearest)
{
    const Setting *best = NULL;
    gdouble slowest = 0;
    *nearest = HUGE_VAL;
    for (guint i = 0; i < settings->len; i++) {
        const Setting *setting = g_ptr_array_index(settings, i);
        gboolean is_asked;
        const gdouble d = distance(setting, question);
        const Trial *trial = find_trial(setting, question->what, &is_asked);
        /* A failure tells of nothing but itself. */
        if (d > MIN(*nearest, farthest) || (!trial && !(d == 0 && setting->failure)))
            continue;
        const gdouble share =
            trial ? share_of_roof(prices, setting, question->what, trial->seconds) : 0;
        if (d == *nearest && share <= slowest)
            continue;
        best = setting;
        slowest = share;
        *nearest = d;
    }
    return best;
}

/* What the store has to say; FALSE: nothing. */
static gboolean
ask_store(const CtPrices *prices, const GPtrArray *settings, const CtPriced *what, CtPrice *price)
{
    g_auto(Question) question;
    question_init(&question, prices, what);
    gdouble nearest;
    const Setting *setting = find_nearest(prices, settings, &question, &nearest);
    if (!setting)
        return FALSE;
    gboolean is_asked;
    const Trial *trial = find_trial(setting, what, &is_asked);
    if (!trial) {
        price->seconds *= failed;
        price->origin = CT_ORIGIN_MEASURED;
        price->failure = setting->failure;
        return TRUE;
    }
    const gdouble share = share_of_roof(prices, setting, what, trial->seconds);
    const gdouble roof = roof_of(prices, what, what->load);
    const gboolean is_split = ct_price_place(what) == CT_HOST && what->variant->split;
    const gdouble seconds = share > 0 && roof > 0 ? share * roof : trial->seconds;
    price->seconds =
        what->load->rate * seconds / (is_split ? (gdouble)prices->machine->n_workers : 1);
    price->spread = trial->spread;
    price->origin = !is_asked || nearest > 0 ? CT_ORIGIN_NEAREST : CT_ORIGIN_MEASURED;
    if (is_asked && setting->is_shipped && nearest <= distance_of_shipped + distance_of_code)
        price->origin = CT_ORIGIN_SHIPPED;
    if (!what->tuning)
        memcpy(price->tuning, trial->tuning, sizeof(price->tuning));
    return TRUE;
}

/* ---- prices that were found ---- */

static guint64
mix(guint64 hash, guint64 value)
{
    hash = (hash ^ value) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static guint64
mix_real(guint64 hash, gdouble value)
{
    guint64 bits;
    memcpy(&bits, &value, sizeof(bits));
    return mix(hash, bits);
}

static guint64
mix_ports(guint64 hash, const CtStream *streams, const CtLayout *layouts, guint n)
{
    for (guint i = 0; i < n; i++) {
        hash = mix(hash, layouts[i].types);
        for (guint a = 0; a < layouts[i].n_axes; a++)
            hash = mix(mix(hash, (guint64)(gsize)layouts[i].axes[a].name),
                       (guint64)layouts[i].axes[a].count);
        for (guint a = 0; layouts[i].n_axes > 0 && a < streams[i].n_axes; a++)
            hash = mix(mix(hash, (guint64)(gsize)streams[i].axes[a].name),
                       (guint64)streams[i].axes[a].length);
    }
    return mix(hash, n);
}

/* Of all that the price depends on; nodes of one graph with the same parameters are one node. */
static guint64
hash_of(const CtPriced *what)
{
    const CtNode *first = &what->nodes[0], *last = &what->nodes[what->n_nodes - 1];
    guint64 hash = mix((guint64)(gsize)what->row, (guint64)(gsize)what->variant);
    hash = mix(mix(hash, (guint64)what->from), (guint64)what->to);
    hash = mix_real(hash, what->load->operations);
    hash = mix_real(hash, what->load->bytes);
    hash = mix_real(hash, what->load->rate);
    for (guint k = 0; k < what->n_nodes; k++) {
        hash = mix(hash, (guint64)(gsize)what->nodes[k].params);
        hash = mix(hash, (guint64)what->nodes[k].footprint.window);
        hash = mix(hash, (guint64)what->nodes[k].footprint.hop);
    }
    for (guint i = 0; what->tuning && i < ct_tuning_count(what->variant); i++)
        hash = mix(hash, (guint64)what->tuning[i] + 1);
    hash = mix_ports(hash, first->inputs, what->inputs, first->n_inputs);
    return mix_ports(hash, last->outputs, what->outputs, last->n_outputs);
}

static void
ask_model(const CtPrices *prices, const CtPriced *what, CtPrice *price)
{
    const CtMachine *machine = prices->machine;
    *price = (CtPrice){.origin = CT_ORIGIN_MODEL};
    ct_tuning_defaults(what->variant, price->tuning);
    if (what->tuning)
        memcpy(price->tuning, what->tuning, sizeof(price->tuning));
    if (what->from != what->to)
        price->seconds = ct_cost_copy_seconds(machine, what->load, what->from, what->to);
    else
        price->seconds = ct_cost_seconds(machine, what->variant, what->row, what->load, what->from);
}

void
ct_price_find(CtPrices *prices, const CtPriced *what, CtPrice *price)
{
    const GPtrArray *settings = g_hash_table_lookup(prices->settings, what->variant);
    ask_model(prices, what, price);
    if (!settings || price->seconds == HUGE_VAL)
        return;
    const guint64 hash = hash_of(what);
    const CtPrice *known = g_hash_table_lookup(prices->found, &hash);
    if (known) {
        *price = *known;
        return;
    }
    ask_store(prices, settings, what, price);
    g_hash_table_insert(prices->found, g_memdup2(&hash, sizeof(hash)),
                        g_memdup2(price, sizeof(*price)));
}
