/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a machine as tables, beside those of another one. */
#include "bench-report.h"
#include "measure/tune-private.h"
#include "model/table.h"

#include <math.h>
#include <string.h>

/* Machines whose rates differ by less are as fast. */
static const gdouble alike = 1.03;

/* "1.234 G"; "" where it is not known. */
static char *
rate_text(gdouble rate)
{
    static const char prefixes[] = " kMGTP";
    gsize i = 0;
    if (!isfinite(rate))
        return g_strdup("");
    for (; rate >= 1000 && i + 2 < sizeof prefixes; i++)
        rate /= 1000;
    return g_strdup_printf("%.*f %c", rate < 10 ? 2 : rate < 100 ? 1 : 0, rate, prefixes[i]);
}

static char *
share_text(gdouble share)
{
    return isfinite(share) && share > 0 ? g_strdup_printf("%.1f%%", 100 * share) : g_strdup("");
}

static char *
ratio_text(gdouble ratio)
{
    return isfinite(ratio) ? g_strdup_printf("%.2f", ratio) : g_strdup("");
}

static gboolean
knows_joules(const CtBench *bench, const char *group)
{
    gboolean knows = FALSE;
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i];
        knows |= g_str_equal(row->group, group) && isfinite(row->joules);
    }
    return knows;
}

static char *
joules_text(gdouble joules)
{
    return isfinite(joules) ? g_strdup_printf("%.3g", 1e9 * joules) : g_strdup("not measured");
}

static char *
published_text(const CtBenchRow *row)
{
    return row->published
               ? g_strdup_printf("%s: %s", row->source ? row->source : "", row->published)
               : g_strdup("");
}

/* ---- the other machine ---- */

static const CtBenchCeiling *
find_ceiling(const CtBench *other, const CtBenchCeiling *like)
{
    for (guint i = 0; other && i < other->ceilings->len; i++) {
        const CtBenchCeiling *one = other->ceilings->pdata[i];
        if (g_str_equal(one->place, like->place) && g_str_equal(one->name, like->name) &&
            (one->workers > 1) == (like->workers > 1))
            return one;
    }
    return NULL;
}

static const CtBenchRow *
find_row(const CtBench *other, const CtBenchRow *like)
{
    for (guint i = 0; other && i < other->rows->len; i++) {
        const CtBenchRow *one = other->rows->pdata[i];
        if (g_str_equal(one->group, like->group) && g_str_equal(one->name, like->name) &&
            g_str_equal(one->place, like->place))
            return one;
    }
    return NULL;
}

/* ---- tables ---- */

static void
append_machine(GString *text, const char *title, const CtBench *bench)
{
    g_string_append_printf(text, "%s: %s, %" G_GINT64_FORMAT " worker%s", title,
                           bench->machine ? bench->machine : "not known", bench->workers,
                           bench->workers == 1 ? "" : "s");
    for (guint i = 0; i < bench->devices->len; i++)
        g_string_append_printf(text, "; cuda:%u %s", i, (const char *)bench->devices->pdata[i]);
    g_string_append_printf(text, "%s\n", bench->is_partial ? "; ended early" : "");
}

/* When a column is there. */
typedef enum { ALWAYS, BESIDE, PUBLISHED, ENERGY } When;

typedef struct {
    CtColumn column;
    When when;
} Column;

/* Prints rows of `n` cells. `shows` says which columns, by When. */
static void
append_table(GString *text, const Column *columns, guint n, GPtrArray *rows, const gboolean *shows)
{
    g_autofree CtColumn *shown = g_new(CtColumn, n);
    g_autoptr(GPtrArray) chosen = ct_table_rows_new();
    guint n_shown = 0;
    for (guint c = 0; c < n; c++)
        if (shows[columns[c].when])
            shown[n_shown++] = columns[c].column;
    for (guint r = 0; r < rows->len; r++) {
        char **cells = rows->pdata[r], **row = g_new0(char *, n_shown + 1);
        for (guint c = 0, to = 0; c < n; c++)
            if (shows[columns[c].when])
                row[to++] = g_strdup(cells[c]);
        g_ptr_array_add(chosen, row);
    }
    ct_table_print(text, shown, n_shown, chosen);
}

static void
add_cells(GPtrArray *rows, char *const *cells, guint n)
{
    char **row = g_new0(char *, n + 1);
    memcpy(row, cells, n * sizeof *row);
    g_ptr_array_add(rows, row);
}

static void
append_ceilings(GString *text, const CtBench *bench, const CtBench *other)
{
    static const Column columns[] = {
        {{"ceilings", FALSE}},     {{"place", FALSE}}, {{"workers", TRUE}},
        {{"per second", TRUE}},    {{"", FALSE}},      {{"other", TRUE}, BESIDE},
        {{"ratio", TRUE}, BESIDE},
    };
    const gboolean shows[] = {TRUE, other != NULL, FALSE, FALSE};
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    for (guint i = 0; i < bench->ceilings->len; i++) {
        const CtBenchCeiling *ceiling = bench->ceilings->pdata[i];
        const CtBenchCeiling *beside = find_ceiling(other, ceiling);
        const gdouble rate = beside ? beside->rate : NAN;
        char *cells[G_N_ELEMENTS(columns)] = {
            g_strdup(ceiling->name),
            g_strdup(ceiling->place),
            ceiling->workers ? g_strdup_printf("%" G_GINT64_FORMAT, ceiling->workers)
                             : g_strdup(""),
            rate_text(ceiling->rate),
            g_strndup(ceiling->unit, strcspn(ceiling->unit, "/")),
            rate_text(rate),
            ratio_text(ceiling->rate / rate),
        };
        add_cells(rows, cells, G_N_ELEMENTS(cells));
    }
    if (rows->len == 0)
        return;
    g_string_append_c(text, '\n');
    append_table(text, columns, G_N_ELEMENTS(columns), rows, shows);
}

static void
append_cases(GString *text, const CtBench *bench, const CtBench *other, const char *group)
{
    const Column columns[] = {
        {{group, FALSE}},
        {{"place", FALSE}},
        {{"samples/s", TRUE}},
        {{"other", TRUE}, BESIDE},
        {{"ratio", TRUE}, BESIDE},
        {{"operations/s", TRUE}},
        {{"of FMA", TRUE}},
        {{"other", TRUE}, BESIDE},
        {{"bytes/s", TRUE}},
        {{"of copies", TRUE}},
        {{"other", TRUE}, BESIDE},
        {{"nJ/operation", TRUE}, ENERGY},
        {{"MHz of a station", TRUE}, PUBLISHED},
        {{"published", FALSE}, PUBLISHED},
        {{"variants", FALSE}},
    };
    const gboolean shows[] = {TRUE, other != NULL, g_str_equal(group, "published"),
                              knows_joules(bench, group)};
    static const CtBenchRow none = {.samples = NAN, .of_fma = NAN, .of_copy = NAN};
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i];
        const CtBenchRow *found = find_row(other, row), *beside = found ? found : &none;
        if (!g_str_equal(row->group, group))
            continue;
        char *cells[G_N_ELEMENTS(columns)] = {
            g_strdup(row->name),
            g_strdup(row->place),
            rate_text(row->samples),
            rate_text(beside->samples),
            ratio_text(row->samples / beside->samples),
            rate_text(row->operations),
            share_text(row->of_fma),
            share_text(beside->of_fma),
            rate_text(row->bytes),
            share_text(row->of_copy),
            share_text(beside->of_copy),
            joules_text(row->joules),
            isfinite(row->of_station) ? g_strdup_printf("%.2f", 1e-6 * row->of_station)
                                      : g_strdup(""),
            published_text(row),
            row->skipped ? g_strconcat("skipped: ", row->skipped, NULL) : g_strdup(row->variants),
        };
        add_cells(rows, cells, G_N_ELEMENTS(cells));
    }
    if (rows->len == 0)
        return;
    g_string_append_c(text, '\n');
    append_table(text, columns, G_N_ELEMENTS(columns), rows, shows);
}

/* ---- which machine is faster ---- */

/* The ratios of this machine to the other one in a family: medians over its cases. */
typedef struct {
    const char *name;
    guint n;
    gdouble rate, fma, copy;
} Family;

/* The fastest row of a case. */
static const CtBenchRow *
find_fastest(const CtBench *bench, const CtBenchRow *like)
{
    const CtBenchRow *fastest = NULL;
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *one = bench->rows->pdata[i];
        if (g_str_equal(one->group, like->group) && g_str_equal(one->name, like->name) &&
            one->samples > 0 && (!fastest || one->samples > fastest->samples))
            fastest = one;
    }
    return fastest;
}

static void
append_ratio(GArray *values, gdouble a, gdouble b)
{
    const gdouble ratio = a / b;
    if (isfinite(ratio) && ratio > 0)
        g_array_append_val(values, ratio);
}

static Family
compare_family(const CtBench *bench, const CtBench *other, const char *name)
{
    Family family = {.name = name};
    g_autoptr(GArray) rate = g_array_new(FALSE, FALSE, sizeof(gdouble));
    g_autoptr(GArray) fma = g_array_new(FALSE, FALSE, sizeof(gdouble));
    g_autoptr(GArray) copy = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i];
        if (!g_str_equal(row->family, name) || find_fastest(bench, row) != row)
            continue;
        const CtBenchRow *beside = find_fastest(other, row);
        if (!beside)
            continue;
        append_ratio(rate, row->samples, beside->samples);
        append_ratio(fma, row->fma, beside->fma);
        append_ratio(copy, row->copy, beside->copy);
    }
    family.n = rate->len;
    family.rate = ct_tune_median(rate);
    family.fma = ct_tune_median(fma);
    family.copy = ct_tune_median(copy);
    return family;
}

/* The families, in the order of their first cases: a Family each. */
static GArray *
compare_families(const CtBench *bench, const CtBench *other)
{
    GArray *families = g_array_new(FALSE, FALSE, sizeof(Family));
    for (guint i = 0; i < bench->rows->len; i++) {
        const char *name = ((const CtBenchRow *)bench->rows->pdata[i])->family;
        gboolean is_known = FALSE;
        for (guint k = 0; k < families->len; k++)
            is_known |= g_str_equal(g_array_index(families, Family, k).name, name);
        const Family family = compare_family(bench, other, name);
        if (!is_known && family.n > 0)
            g_array_append_val(families, family);
    }
    return families;
}

/* Appends the families in which one machine is faster: `sign` 1 this one, −1 the other, 0 none. */
static void
append_faster(GString *text, const GArray *families, gint sign, const char *who)
{
    const char *between = who;
    for (guint i = 0; i < families->len; i++) {
        const Family *family = &g_array_index(families, Family, i);
        const gdouble more = sign < 0 ? 1 / family->rate : family->rate;
        const gint is_more = family->rate > alike ? 1 : family->rate < 1 / alike ? -1 : 0;
        if (is_more != sign)
            continue;
        g_string_append_printf(text, "%s%s", between, family->name);
        if (sign != 0)
            g_string_append_printf(text, " %.2f times (multiply-adds %.2f, copies %.2f)", more,
                                   sign < 0 ? 1 / family->fma : family->fma,
                                   sign < 0 ? 1 / family->copy : family->copy);
        between = ", ";
    }
    if (between != who)
        g_string_append(text, ".\n");
}

/* Each case counts at the place where its machine is fastest. */
static void
append_comparison(GString *text, const CtBench *bench, const CtBench *other)
{
    g_autoptr(GArray) families = compare_families(bench, other);
    if (families->len == 0) {
        g_string_append(text, "\nThe machines have no case in common.\n");
        return;
    }
    g_string_append(text, "\nMedians of ratios over the cases of a group, each machine at its "
                          "fastest place; in parentheses, those of its ceilings.\n");
    append_faster(text, families, 1, "This machine is faster: ");
    append_faster(text, families, -1, "The other machine is faster: ");
    append_faster(text, families, 0, "Both are as fast, within 3 %: ");
}

char *
ct_bench_to_text(const CtBench *bench, const CtBench *other)
{
    static const char *const groups[] = {"stages", "pipelines", "published"};
    GString *text = g_string_new(NULL);
    append_machine(text, "machine", bench);
    if (other)
        append_machine(text, "other", other);
    if (bench->energy)
        g_string_append_printf(text, "energy: not measured: %s\n", bench->energy);
    append_ceilings(text, bench, other);
    for (guint i = 0; i < G_N_ELEMENTS(groups); i++)
        append_cases(text, bench, other, groups[i]);
    if (other)
        append_comparison(text, bench, other);
    return g_string_free(text, FALSE);
}
