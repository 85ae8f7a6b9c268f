/* SPDX-License-Identifier: BSD-3-Clause */
/* Filterbanks in HDF5. */
#include "hdf5-filterbank.h"

#include "hdf5-stream.h"
#include "hdf5.h"

#include <hdf5_hl.h>
#include <math.h>

#define CLASS "FILTERBANK"

gboolean
hdf5_is_filterbank(hid_t file)
{
    g_autofree char *class = hdf5_get_text(file, "CLASS");
    return g_strcmp0(class, CLASS) == 0;
}

/* ---- reading ---- */

/* An angle may also be a text, 05:34:31.97. */
static gboolean
read_number(hid_t data, SigprocKeyword keyword, gdouble *number)
{
    const char *name = sigproc_keyword(keyword);
    g_autofree char *text = hdf5_get_text(data, name);
    const gboolean is_hours = keyword == SIGPROC_SRC_RAJ;
    if (!text)
        return hdf5_get(data, name, H5T_NATIVE_DOUBLE, number, 0);
    if ((!is_hours && keyword != SIGPROC_SRC_DEJ) || !ct_angle_parse(text, is_hours, number, NULL))
        return FALSE;
    *number *= (is_hours ? 12 : 180) / G_PI;
    return TRUE;
}

static gboolean
read_keyword(const CtArrayFile *file, hid_t data, SigprocKeyword keyword, SigprocHeader *header,
             GError **error)
{
    const char *name = sigproc_keyword(keyword);
    gdouble number;
    if (H5Aexists(data, name) <= 0)
        return TRUE;
    if (sigproc_is_text(keyword)) {
        g_autofree char *text = hdf5_get_text(data, name);
        if (!text)
            return hdf5_refuse(file, error, "wants a text as %s", name);
        sigproc_set_text(header, keyword, text);
        return TRUE;
    }
    if (!read_number(data, keyword, &number) ||
        (sigproc_is_integer(keyword) && !(fabs(number) <= G_MAXINT32)))
        return hdf5_refuse(file, error, "wants %s as %s",
                           sigproc_is_integer(keyword) ? "an integer of 32 bits" : "a number",
                           name);
    sigproc_set(header, keyword, number);
    return TRUE;
}

gboolean
hdf5_filterbank_read(const CtArrayFile *file, hid_t data, const gint64 dims[3],
                     SigprocHeader *header, GError **error)
{
    static const SigprocKeyword lengths[] = {SIGPROC_NIFS, SIGPROC_NCHANS};
    static const SigprocKeyword needed[] = {SIGPROC_TSAMP, SIGPROC_FCH1, SIGPROC_FOFF};
    for (guint k = 0; k < SIGPROC_N_KEYWORDS; k++)
        if (!read_keyword(file, data, k, header, error))
            return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
        if (!sigproc_has(header, needed[i]))
            return hdf5_refuse(file, error, "wants %s of a filterbank", sigproc_keyword(needed[i]));
    header->is_decimal = TRUE;
    for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
        const gdouble said = header->number[lengths[i]];
        if (dims[1 + i] > G_MAXINT32 ||
            (sigproc_has(header, lengths[i]) && said != (gdouble)dims[1 + i]))
            return hdf5_refuse(file, error,
                               "wants %s as the dataset has them, %" G_GINT64_FORMAT
                               ", but is given %.0f",
                               sigproc_keyword(lengths[i]), dims[1 + i], said);
        sigproc_set(header, lengths[i], (gdouble)dims[1 + i]);
    }
    return TRUE;
}

/* ---- writing ---- */

static gboolean
write_keyword(hid_t data, SigprocKeyword keyword, const SigprocHeader *header)
{
    const char *name = sigproc_keyword(keyword);
    const gint64 integer = (gint64)header->number[keyword];
    if (sigproc_is_text(keyword))
        return hdf5_set_text(data, name, header->text[keyword]);
    return sigproc_is_integer(keyword)
               ? hdf5_set(data, name, H5T_NATIVE_INT64, &integer, 0)
               : hdf5_set(data, name, H5T_NATIVE_DOUBLE, &header->number[keyword], 0);
}

hid_t
hdf5_filterbank_write(hid_t file, const SigprocHeader *header)
{
    static const char *const labels[] = {"time", "feed_id", "frequency"};
    const hsize_t dims[] = {0, (hsize_t)header->number[SIGPROC_NIFS],
                            (hsize_t)header->number[SIGPROC_NCHANS]};
    g_auto(Hdf5Id) data = hdf5_add(file, HDF5_DATA, H5T_IEEE_F32LE, 3, dims, NULL, NULL);
    gboolean good = data >= 0;
    for (guint k = 0; k < SIGPROC_N_KEYWORDS && good; k++)
        good = !sigproc_has(header, k) || write_keyword(data, k, header);
    for (guint i = 0; i < G_N_ELEMENTS(labels) && good; i++)
        good = H5DSset_label(data, i, labels[i]) >= 0;
    good = good && hdf5_set_text(file, "CLASS", CLASS) && hdf5_set_text(file, "VERSION", "1.0");
    if (!good)
        return H5I_INVALID_HID;
    const hid_t made = data;
    data = H5I_INVALID_HID;
    return made;
}
