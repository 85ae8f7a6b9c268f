/* SPDX-License-Identifier: BSD-3-Clause */
/* The UVH5 file of a stream, before its visibilities. */
#define _GNU_SOURCE /* fallocate */
#include "uvh5-file.h"

#include "../hdf5/hdf5-image.h"

#include <cornerturn/packets.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A file that is being made. After a failure the functions do nothing. */
typedef struct {
    const CtSinkFile *file;
    const Uvh5Shape *shape;
    const Uvh5Moment *moments; /* [n_times] */
    const guint *centres;      /* [n_times] */
    gint64 n_times;
    hid_t header; /* a group */
    gboolean failed;
} Maker;

/* ---- datasets of the header ---- */

static void
add(Maker *self, hid_t group, const char *name, hid_t type, guint n_dims, const hsize_t *dims,
    gconstpointer values)
{
    if (self->failed)
        return;
    g_auto(Hdf5Id) made = hdf5_add(group, name, type, n_dims, dims, values, NULL);
    self->failed = made < 0;
}

static void
add_number(Maker *self, const char *name, gint64 value)
{
    add(self, self->header, name, H5T_NATIVE_INT64, 0, NULL, &value);
}

static void
add_real(Maker *self, hid_t group, const char *name, gdouble value)
{
    add(self, group, name, H5T_NATIVE_DOUBLE, 0, NULL, &value);
}

/* A text of a fixed number of bytes, zeros behind it. */
static hid_t
text_type(gsize n_bytes)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, MAX(n_bytes, 1));
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

/* Nothing if it is NULL. */
static void
add_text(Maker *self, hid_t group, const char *name, const char *text)
{
    if (!text)
        return;
    g_auto(Hdf5Id) type = text_type(strlen(text));
    add(self, group, name, type, 0, NULL, text);
}

/* Texts of one length, [n][n_bytes]. */
static void
add_texts(Maker *self, const char *name, guint n_dims, const hsize_t *dims, const char *texts,
          gsize n_bytes)
{
    g_auto(Hdf5Id) type = text_type(n_bytes);
    add(self, self->header, name, type, n_dims, dims, texts);
}

/* h5py's type of truth values. */
static hid_t
truth_type(void)
{
    const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    const gint8 no = 0, yes = 1;
    H5Tenum_insert(type, "FALSE", &no);
    H5Tenum_insert(type, "TRUE", &yes);
    return type;
}

static void
add_truth(Maker *self, const char *name, gint8 value)
{
    g_auto(Hdf5Id) type = truth_type();
    add(self, self->header, name, type, 0, NULL, &value);
}

/* Frees a table that may be missing; it is a failure then. */
static gpointer
new_table(Maker *self, gint64 n, gsize bytes, GError **error)
{
    gpointer table = self->failed ? NULL : ct_table_new((gsize)n + 1, bytes, "metadata", error);
    self->failed |= !table;
    return table;
}

/* ---- the header ---- */

static void
add_telescope(Maker *self)
{
    const Uvh5Shape *shape = self->shape;
    const CtObservationFacts *facts = ct_observation_facts(self->file->stream.observation);
    const gdouble degree = G_PI / 180;
    add_text(self, self->header, "telescope_name", facts->telescope);
    add_text(self, self->header, "instrument", facts->telescope);
    add_text(self, self->header, "telescope_frame", "itrs");
    add_real(self, self->header, "latitude", shape->place.latitude / degree);
    add_real(self, self->header, "longitude", shape->place.longitude / degree);
    add_real(self, self->header, "altitude", shape->place.height);
}

static void
add_antennas(Maker *self, GError **error)
{
    static const char *const mounts[] = {"fixed", "alt-az", "equatorial", "phased", "x-y", "other"};
    const Uvh5Shape *shape = self->shape;
    const gint64 n = shape->n_stations;
    const hsize_t dims[] = {(hsize_t)n, 3}, feeds[] = {(hsize_t)n, (hsize_t)shape->n_feeds};
    const char *mount = mounts[ct_params_choice(self->file->given, "mount")];
    gsize longest = 1;
    for (gint64 s = 0; s < n; s++)
        longest = MAX(longest, strlen(shape->stations[s]->name));
    g_autofree char *names = new_table(self, n, longest, error);
    g_autofree char *of_feeds = new_table(self, n, 2, error);
    g_autofree gdouble *angles = new_table(self, n, 2 * sizeof(gdouble), error);
    g_autofree char *of_mounts = new_table(self, n, strlen(mount), error);
    for (gint64 s = 0; s < n && !self->failed; s++) {
        const CtStation *station = shape->stations[s];
        memcpy(names + s * (gint64)longest, station->name, strlen(station->name));
        memcpy(of_mounts + s * (gint64)strlen(mount), mount, strlen(mount));
        for (gint64 k = 0; k < shape->n_feeds; k++) {
            of_feeds[s * shape->n_feeds + k] = shape->feeds[k];
            angles[s * shape->n_feeds + k] = station->feeds[shape->polarisations[k]];
        }
    }
    add_number(self, "Nants_telescope", n);
    add_texts(self, "antenna_names", 1, dims, names, longest);
    add(self, self->header, "antenna_numbers", H5T_NATIVE_INT64, 1, dims, shape->numbers);
    add(self, self->header, "antenna_positions", H5T_NATIVE_DOUBLE, 2, dims, shape->positions);
    add_number(self, "Nfeeds", shape->n_feeds);
    add_texts(self, "feed_array", 2, feeds, of_feeds, 1);
    add(self, self->header, "feed_angle", H5T_NATIVE_DOUBLE, 2, feeds, angles);
    add_texts(self, "mount_type", 1, dims, of_mounts, strlen(mount));
}

static void
add_channels(Maker *self, GError **error)
{
    const Uvh5Shape *shape = self->shape;
    const hsize_t n = (hsize_t)shape->n_channels, n_windows = (hsize_t)shape->n_windows;
    g_autofree gdouble *frequencies = new_table(self, shape->n_channels, sizeof(gdouble), error);
    g_autofree gdouble *widths = new_table(self, shape->n_channels, sizeof(gdouble), error);
    g_autofree gint64 *windows = new_table(self, shape->n_channels, sizeof(gint64), error);
    g_autofree gint64 *numbers = new_table(self, shape->n_windows, sizeof(gint64), error);
    for (gint64 c = 0; c < shape->n_channels && !self->failed; c++) {
        frequencies[c] = shape->channels[c].frequency;
        widths[c] = shape->channels[c].width;
        windows[c] = shape->channels[c].window;
    }
    for (gint64 w = 0; w < shape->n_windows && !self->failed; w++)
        numbers[w] = w;
    add_number(self, "Nfreqs", shape->n_channels);
    add_number(self, "Nspws", shape->n_windows);
    add(self, self->header, "freq_array", H5T_NATIVE_DOUBLE, 1, &n, frequencies);
    add(self, self->header, "channel_width", H5T_NATIVE_DOUBLE, 1, &n, widths);
    add(self, self->header, "flex_spw_id_array", H5T_NATIVE_INT64, 1, &n, windows);
    add(self, self->header, "spw_array", H5T_NATIVE_INT64, 1, &n_windows, numbers);
}

static void
add_products(Maker *self)
{
    const Uvh5Shape *shape = self->shape;
    const hsize_t n = (hsize_t)shape->n_products;
    gint64 numbers[G_N_ELEMENTS(shape->products)];
    for (gint64 k = 0; k < shape->n_products; k++)
        numbers[k] = shape->products[k].number;
    add_number(self, "Npols", shape->n_products);
    add(self, self->header, "polarization_array", H5T_NATIVE_INT64, 1, &n, numbers);
}

/* A real number of each moment, for all its baselines. */
static void
add_of_moments(Maker *self, const char *name, gsize member, GError **error)
{
    const gint64 n_baselines = self->shape->n_baselines;
    const hsize_t n = (hsize_t)(self->n_times * n_baselines);
    g_autofree gdouble *values = new_table(self, (gint64)n, sizeof(gdouble), error);
    for (gint64 i = 0; i < (gint64)n && !self->failed; i++)
        values[i] = G_STRUCT_MEMBER(gdouble, &self->moments[i / n_baselines], member);
    add(self, self->header, name, H5T_NATIVE_DOUBLE, 1, &n, values);
}

static void
add_rows(Maker *self, GError **error)
{
    const Uvh5Shape *shape = self->shape;
    const gint64 n_baselines = shape->n_baselines, n = self->n_times * n_baselines;
    const hsize_t dims[] = {(hsize_t)n, 3};
    g_autofree gint64 *first = new_table(self, n, sizeof(gint64), error);
    g_autofree gint64 *second = new_table(self, n, sizeof(gint64), error);
    g_autofree gint64 *centre = new_table(self, n, sizeof(gint64), error);
    g_autofree gdouble *uvw = new_table(self, n, 3 * sizeof(gdouble), error);
    g_autofree gdouble *seconds = new_table(self, n, sizeof(gdouble), error);
    g_autoptr(GHashTable) used = g_hash_table_new(NULL, NULL);
    for (gint64 i = 0; i < n && !self->failed; i++) {
        const guint32 *pair = shape->pairs[i % n_baselines];
        gdouble xyz[3];
        first[i] = shape->numbers[pair[0]];
        second[i] = shape->numbers[pair[1]];
        centre[i] = self->centres[i / n_baselines];
        seconds[i] = 1 / ct_stream_sample_rate(&self->file->stream);
        for (guint k = 0; k < 3; k++)
            xyz[k] = shape->positions[3 * pair[1] + k] - shape->positions[3 * pair[0] + k];
        uvh5_project(&shape->place, &self->moments[i / n_baselines], xyz, uvw + 3 * i);
        if (i < n_baselines) {
            g_hash_table_add(used, GUINT_TO_POINTER(pair[0] + 1));
            g_hash_table_add(used, GUINT_TO_POINTER(pair[1] + 1));
        }
    }
    add_number(self, "Nants_data", g_hash_table_size(used));
    add_number(self, "Nbls", n_baselines);
    add_number(self, "Ntimes", self->n_times);
    add_number(self, "Nblts", n);
    add(self, self->header, "ant_1_array", H5T_NATIVE_INT64, 1, dims, first);
    add(self, self->header, "ant_2_array", H5T_NATIVE_INT64, 1, dims, second);
    add(self, self->header, "phase_center_id_array", H5T_NATIVE_INT64, 1, dims, centre);
    add(self, self->header, "uvw_array", H5T_NATIVE_DOUBLE, 2, dims, uvw);
    add(self, self->header, "integration_time", H5T_NATIVE_DOUBLE, 1, dims, seconds);
    add_of_moments(self, "time_array", G_STRUCT_OFFSET(Uvh5Moment, jd), error);
    add_of_moments(self, "lst_array", G_STRUCT_OFFSET(Uvh5Moment, lst), error);
    add_of_moments(self, "phase_center_app_ra", G_STRUCT_OFFSET(Uvh5Moment, ra), error);
    add_of_moments(self, "phase_center_app_dec", G_STRUCT_OFFSET(Uvh5Moment, dec), error);
    add_of_moments(self, "phase_center_frame_pa", G_STRUCT_OFFSET(Uvh5Moment, turn), error);
    add_text(self, self->header, "blt_order", "time");
    add_truth(self, "blts_are_rectangular", 1);
    add_truth(self, "time_axis_faster_than_bls", 0);
}

static void
add_phase_centre(Maker *self, hid_t catalogue, guint number)
{
    const Uvh5Centre *centre = &self->shape->centres->centres[number];
    char name[16];
    g_snprintf(name, sizeof name, "%u", number);
    g_auto(Hdf5Id) group = self->failed
                               ? H5I_INVALID_HID
                               : H5Gcreate2(catalogue, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    self->failed |= group < 0;
    add_text(self, group, "cat_name", centre->name);
    add_text(self, group, "cat_type", centre->is_tracked ? "sidereal" : "unprojected");
    add_text(self, group, "cat_frame", centre->is_tracked ? "icrs" : "altaz");
    add_real(self, group, "cat_lon", centre->is_tracked ? centre->direction[0] : 0);
    add_real(self, group, "cat_lat", centre->is_tracked ? centre->direction[1] : G_PI / 2);
    if (centre->is_tracked) /* pyuvdata makes no Measurement Sets of a frame without equinox */
        add_real(self, group, "cat_epoch", 2000);
    add_text(self, group, "info_source", "file");
}

/* Those of the integrations; without any, the first. */
static void
add_phase_centres(Maker *self, GError **error)
{
    const guint n = self->shape->centres->n_centres;
    gint64 n_used = 0;
    g_autofree gboolean *is_used = new_table(self, n, sizeof *is_used, error);
    for (gint64 i = 0; i < self->n_times && !self->failed; i++)
        is_used[self->centres[i]] = TRUE;
    if (self->n_times == 0 && !self->failed)
        is_used[0] = TRUE;
    g_auto(Hdf5Id) catalogue =
        H5Gcreate2(self->header, "phase_center_catalog", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    self->failed |= catalogue < 0;
    for (guint k = 0; k < n && !self->failed; k++)
        if (is_used[k]) {
            add_phase_centre(self, catalogue, k);
            n_used++;
        }
    add_number(self, "Nphase", n_used);
}

static void
add_rest(Maker *self)
{
    const CtObservationFacts *facts = ct_observation_facts(self->file->stream.observation);
    g_auto(Hdf5Id) group =
        H5Gcreate2(self->header, "extra_keywords", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    self->failed |= group < 0;
    add_text(self, group, "OBSERVER", facts->observer);
    add_text(self, group, "PROJECT", facts->project);
    add_text(self, self->header, "version", "1.2");
    add_text(self, self->header, "vis_units", "uncalib");
    add_text(self, self->header, "timesys", "UTC");
    if (self->n_times > 0)
        add_real(self, self->header, "dut1", self->moments[0].dut1);
}

/* ---- room ---- */

/* Adds the history. Returns where the file has the text that tells how much is written. */
static gint64
add_history(Maker *self, const char *history)
{
    const gsize n = strlen(history);
    g_autofree char *text = g_malloc0(n + UVH5_STATE_BYTES);
    memcpy(text, history, n);
    g_auto(Hdf5Id) type = text_type(n + UVH5_STATE_BYTES);
    g_auto(Hdf5Id) made = hdf5_add(self->header, "history", type, 0, NULL, text, NULL);
    const haddr_t at = made < 0 ? HADDR_UNDEF : H5Dget_offset(made);
    self->failed |= at == HADDR_UNDEF;
    return (gint64)(at + n);
}

/* A dataset [time baseline][channel][product] that follows the metadata. */
typedef struct {
    Hdf5Id dataset;
    Hdf5Places places; /* of its numbers */
    gint64 bytes;      /* of an element */
} Room;

static void
add_room(Maker *self, hid_t group, const char *name, hid_t type, Room *room)
{
    const Uvh5Shape *shape = self->shape;
    const hsize_t dims[] = {(hsize_t)(self->n_times * shape->n_baselines),
                            (hsize_t)shape->n_channels, (hsize_t)shape->n_products};
    room->bytes = (gint64)H5Tget_size(type);
    if (!self->failed)
        room->dataset = hdf5_add(group, name, type, G_N_ELEMENTS(dims), dims, NULL, NULL);
    self->failed |= room->dataset < 0;
}

enum { VISIBILITIES, FLAGS, SAMPLES, N_ROOMS };

static void
add_data(Maker *self, hid_t file, gboolean is_wide, Room *rooms)
{
    g_auto(Hdf5Id) group = H5Gcreate2(file, "Data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    g_auto(Hdf5Id) complex = hdf5_type(is_wide ? CT_CF64 : CT_CF32);
    g_auto(Hdf5Id) truth = truth_type();
    self->failed |= group < 0;
    add_room(self, group, "visdata", complex, &rooms[VISIBILITIES]);
    add_room(self, group, "flags", truth, &rooms[FLAGS]);
    add_room(self, group, "nsamples", H5T_NATIVE_FLOAT, &rooms[SAMPLES]);
}

/* ---- the metadata, in memory ---- */

static gboolean
add_all(Maker *self, hid_t file, gboolean is_wide, const char *history, Room *rooms,
        Uvh5Places *places, GError **error)
{
    GError *cause = NULL;
    g_auto(Hdf5Id) header = H5Gcreate2(file, "Header", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    self->header = header;
    self->failed = header < 0;
    add_telescope(self);
    add_antennas(self, &cause);
    add_channels(self, &cause);
    add_products(self);
    add_rows(self, &cause);
    add_phase_centres(self, &cause);
    add_rest(self);
    places->state = add_history(self, history);
    add_data(self, file, is_wide, rooms);
    if (cause)
        g_propagate_error(error, cause);
    else if (self->failed)
        hdf5_error(error, self->file->path, "the metadata can't be made");
    return !self->failed;
}

static void
put_number(guint8 *bytes, gsize place, gint64 value)
{
    const guint64 number = GUINT64_TO_LE((guint64)value);
    memcpy(bytes + place, &number, sizeof number);
}

/* Gives the datasets their places behind the metadata. Returns the bytes of the metadata, and sets
 * those of the file; NULL if the library's file is not as it is known. */
static GBytes *
place_rooms(const Maker *self, hid_t file, Room *rooms, gint64 *ends)
{
    GBytes *image = hdf5_image_take(file);
    gsize n = 0;
    gboolean good = image != NULL;
    for (guint k = 0; k < N_ROOMS && good; k++)
        good = hdf5_image_find(image, rooms[k].dataset, &rooms[k].places);
    guint8 *bytes = image ? g_bytes_unref_to_data(image, &n) : NULL;
    const gint64 n_elements = self->n_times * self->shape->n_baselines * self->shape->n_channels *
                              self->shape->n_products;
    gint64 end = (gint64)n;
    for (guint k = 0; k < N_ROOMS && good; k++) {
        if (n_elements > 0)
            put_number(bytes, rooms[k].places.address, end);
        put_number(bytes, rooms[k].places.bytes, n_elements * rooms[k].bytes);
        ends[k] = end;
        end += (n_elements * rooms[k].bytes + HDF5_PAGE - 1) / HDF5_PAGE * HDF5_PAGE;
    }
    if (good) {
        put_number(bytes, HDF5_END_PLACE, end);
        ends[N_ROOMS] = end;
        return g_bytes_new_take(bytes, n);
    }
    g_free(bytes);
    return NULL;
}

static GBytes *
make_image(Maker *self, gboolean is_wide, const char *history, Uvh5Places *places, gint64 *ends,
           GError **error)
{
    const char *path = self->file->path;
    Room rooms[N_ROOMS];
    for (guint k = 0; k < N_ROOMS; k++)
        rooms[k] = (Room){.dataset = H5I_INVALID_HID};
    g_auto(Hdf5Id) file = hdf5_image_begin(path);
    GBytes *image = NULL;
    if (file < 0)
        hdf5_error(error, path, "the metadata can't be made");
    else if (add_all(self, file, is_wide, history, rooms, places, error) &&
             !(image = place_rooms(self, file, rooms, ends)))
        hdf5_error(error, path, "the metadata have no places that are known");
    for (guint k = 0; k < N_ROOMS; k++)
        hdf5_close(rooms[k].dataset);
    return image;
}

/* ---- the file ---- */

/* Allocates the disk space of the whole file, so that a lack of it shows at once. */
static gboolean
allocate(const CtSinkFile *file, gint64 bytes, GError **error)
{
    while (fallocate(file->fd, 0, 0, bytes) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS)
            return ftruncate(file->fd, bytes) == 0 ||
                   ct_file_error(error, file->path, "has no room for all integrations");
        if (errno != EINTR)
            return ct_file_error(error, file->path, "has no room for all integrations");
    }
    return TRUE;
}

static gboolean
write_flags(const CtSinkFile *file, gint64 from, gint64 to, GError **error)
{
    enum { PIECE = 1 << 20 };
    g_autofree guint8 *flagged = g_malloc(PIECE);
    memset(flagged, 1, PIECE);
    for (gint64 at = from; at < to; at += PIECE) {
        const gint64 n = MIN(PIECE, to - at);
        if (ct_file_write(file->path, file->fd, at, flagged, n, error) != n)
            return FALSE;
    }
    return TRUE;
}

/* Until its first page is there, the file is not one of HDF5: so it comes last. */
static gboolean
write_image(const CtSinkFile *file, GBytes *image, GError **error)
{
    gsize n;
    const guint8 *bytes = g_bytes_get_data(image, &n);
    const gint64 rest = (gint64)n - HDF5_PAGE;
    return ct_file_write(file->path, file->fd, HDF5_PAGE, bytes + HDF5_PAGE, rest, error) == rest &&
           ct_file_write(file->path, file->fd, 0, bytes, HDF5_PAGE, error) == HDF5_PAGE;
}

gboolean
uvh5_file_create(const CtSinkFile *file, const Uvh5Shape *shape,
                 const EarthOrientations *orientations, gboolean is_wide, const char *history,
                 Uvh5Places *places, GError **error)
{
    const CtStream *stream = file->input->stream;
    const gint64 first = (file->stream.start - stream->start) / stream->ticks_per_sample;
    gint64 ends[N_ROOMS + 1];
    g_autofree Uvh5Moment *moments =
        ct_table_new((gsize)file->expected + 1, sizeof *moments, "times", error);
    g_autofree guint *centres =
        moments ? ct_table_new((gsize)file->expected + 1, sizeof *centres, "times", error) : NULL;
    if (!centres)
        return FALSE;
    for (gint64 i = 0; i < file->expected; i++) {
        gboolean is_mixed;
        centres[i] = uvh5_centres_at(shape->centres, stream, first + i, &is_mixed);
        if (!uvh5_moment(stream, first + i, &shape->place, &shape->centres->centres[centres[i]],
                         orientations, &moments[i], error))
            return FALSE;
    }
    Maker maker = {.file = file,
                   .shape = shape,
                   .moments = moments,
                   .centres = centres,
                   .n_times = file->expected};
    hdf5_begin();
    g_autoptr(GBytes) image = make_image(&maker, is_wide, history, places, ends, error);
    hdf5_end();
    if (!image)
        return FALSE;
    places->visibilities = ends[VISIBILITIES];
    places->flags = ends[FLAGS];
    places->samples = ends[SAMPLES];
    return allocate(file, ends[N_ROOMS], error) &&
           write_flags(file, ends[FLAGS], ends[SAMPLES], error) && write_image(file, image, error);
}
