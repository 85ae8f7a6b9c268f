/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of the HDF5 library: the lock, types, attributes, errors. */
#include "hdf5-objects.h"

#include <cornerturn/error.h>
#include <cornerturn/stage.h>
#include <string.h>

void
hdf5_begin(void)
{
    ct_library_lock("hdf5");
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void
hdf5_end(void)
{
    ct_library_unlock("hdf5");
}

/* The last one that the library tells is the cause. */
static herr_t
take_cause(G_GNUC_UNUSED unsigned n, const H5E_error2_t *cause, void *data)
{
    g_free(*(char **)data);
    *(char **)data = g_strdup(cause->desc);
    return 0;
}

gboolean
hdf5_error(GError **error, const char *path, const char *what)
{
    g_autofree char *cause = NULL;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_cause, &cause);
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s: %s", path, what,
                cause && *cause ? cause : "the HDF5 library does not say why");
    return FALSE;
}

void
hdf5_close(Hdf5Id id)
{
    if (id < 0)
        return;
    switch (H5Iget_type(id)) {
    case H5I_FILE:
        H5Fclose(id);
        break;
    case H5I_GROUP:
        H5Gclose(id);
        break;
    case H5I_DATATYPE:
        H5Tclose(id);
        break;
    case H5I_DATASPACE:
        H5Sclose(id);
        break;
    case H5I_DATASET:
        H5Dclose(id);
        break;
    case H5I_ATTR:
        H5Aclose(id);
        break;
    default:
        H5Pclose(id);
    }
}

/* ---- types ---- */

/* IEEE 754 of 16 bits. */
static hid_t
half_type(void)
{
    enum { BYTES = 2, SIGN = 15, EXPONENT = 10, EXPONENT_BITS = 5, FRACTION_BITS = 10, BIAS = 15 };
    const hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
    H5Tset_fields(type, SIGN, EXPONENT, EXPONENT_BITS, 0, FRACTION_BITS);
    H5Tset_size(type, BYTES);
    H5Tset_ebias(type, BIAS);
    return type;
}

static hid_t
part_type(CtType type)
{
    switch (type) {
    case CT_I8:
        return H5Tcopy(H5T_NATIVE_INT8);
    case CT_I16:
        return H5Tcopy(H5T_NATIVE_INT16);
    case CT_I32:
        return H5Tcopy(H5T_NATIVE_INT32);
    case CT_I64:
        return H5Tcopy(H5T_NATIVE_INT64);
    case CT_U32:
        return H5Tcopy(H5T_NATIVE_UINT32);
    case CT_F16:
        return half_type();
    case CT_F32:
        return H5Tcopy(H5T_NATIVE_FLOAT);
    case CT_F64:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    default:
        return H5Tcopy(H5T_NATIVE_UINT8); /* u8, ci4 */
    }
}

hid_t
hdf5_type(CtType type)
{
    const CtTypeInfo *info = ct_type_info(type);
    if (!info->is_complex || type == CT_CI4)
        return part_type(type);
    g_auto(Hdf5Id) part = part_type(info->part);
    const hid_t both = H5Tcreate(H5T_COMPOUND, info->bytes);
    H5Tinsert(both, "r", 0, part);
    H5Tinsert(both, "i", info->bytes / 2, part);
    return both;
}

hid_t
hdf5_text_type(void)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

/* ---- attributes ---- */

gboolean
hdf5_set(hid_t object, const char *name, hid_t type, gconstpointer values, gsize n)
{
    const hsize_t dims[] = {n};
    g_auto(Hdf5Id) space = n > 0 ? H5Screate_simple(1, dims, NULL) : H5Screate(H5S_SCALAR);
    g_auto(Hdf5Id) attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    return attribute >= 0 && H5Awrite(attribute, type, values) >= 0;
}

gboolean
hdf5_set_text(hid_t object, const char *name, const char *text)
{
    g_auto(Hdf5Id) type = hdf5_text_type();
    return !text || hdf5_set(object, name, type, &text, 0);
}

/* ---- datasets ---- */

hid_t
hdf5_add(hid_t group, const char *name, hid_t type, guint n_dims, const hsize_t *dims,
         gconstpointer values, gconstpointer fill)
{
    g_auto(Hdf5Id) space =
        n_dims > 0 ? H5Screate_simple((int)n_dims, dims, NULL) : H5Screate(H5S_SCALAR);
    g_auto(Hdf5Id) how = H5Pcreate(H5P_DATASET_CREATE);
    /* The same stream gives the same bytes. */
    H5Pset_obj_track_times(how, FALSE);
    if (fill)
        H5Pset_fill_value(how, type, fill);
    if (!values)
        H5Pset_alloc_time(how, H5D_ALLOC_TIME_LATE);
    g_auto(Hdf5Id) made = H5Dcreate2(group, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    if (made < 0 || (values && H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0))
        return H5I_INVALID_HID;
    const hid_t given = made;
    made = H5I_INVALID_HID;
    return given;
}
