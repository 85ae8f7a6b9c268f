/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: measured costs as lines of JSON. What is read is written, and read again. */
#include "cost/database.h"
#include "fuzz.h"

static void
check_again(const char *line, gboolean is_ceiling)
{
    const CtStoreFilter all = {0};
    g_autoptr(GPtrArray) measurements =
        g_ptr_array_new_with_free_func((GDestroyNotify)ct_measurement_free);
    g_autoptr(GPtrArray) ceilings = g_ptr_array_new_with_free_func((GDestroyNotify)ct_ceiling_free);
    g_autoptr(GError) error = NULL;
    ct_database_parse(line, strlen(line), "again", &all, measurements, ceilings, &error);
    g_assert_no_error(error);
    g_assert_cmpuint((is_ceiling ? ceilings : measurements)->len, ==, 1);
    g_autofree char *again = is_ceiling ? ct_ceiling_to_json(ceilings->pdata[0])
                                        : ct_measurement_to_json(measurements->pdata[0]);
    g_assert_cmpstr(line, ==, again);
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    const CtStoreFilter all = {0};
    const char *text = size > 0 ? (const char *)data : "";
    g_autoptr(GPtrArray) measurements =
        g_ptr_array_new_with_free_func((GDestroyNotify)ct_measurement_free);
    g_autoptr(GPtrArray) ceilings = g_ptr_array_new_with_free_func((GDestroyNotify)ct_ceiling_free);
    g_autoptr(GError) error = NULL;
    const gboolean good =
        ct_database_parse(text, size, "costs", &all, measurements, ceilings, &error);
    g_assert_true(good == !error);
    for (guint i = 0; good && i < measurements->len; i++) {
        g_autofree char *line = ct_measurement_to_json(measurements->pdata[i]);
        check_again(line, FALSE);
    }
    for (guint i = 0; good && i < ceilings->len; i++) {
        g_autofree char *line = ct_ceiling_to_json(ceilings->pdata[i]);
        check_again(line, TRUE);
    }
    return 0;
}
