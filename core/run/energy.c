/* SPDX-License-Identifier: BSD-3-Clause */
/* The energy of a run. The counters of a processor's packages wrap: the longest time for which they
 * are left alone is short enough for the most that a package can use. */
#include "energy.h"

#include "model/environment.h"
#include "model/thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* The folder of powercap, for tests. */
#define VARIABLE "CORNERTURN_POWERCAP"
#define FOLDER   "/sys/class/powercap"

/* More than a package uses. */
static const gdouble most_watts = 2000;
static const gint64 longest_wait = 60;
/* The least range of a counter, in microjoules; others would have to be read all the time. */
enum { LEAST_PERIOD = 1000000 };
/* Counters move some time after the energy was used, but at most so many seconds. */
static const gdouble most_delay = 1;

/* A package of the processor. */
typedef struct {
    char *name;
    char *path;     /* of its counter, in microjoules */
    guint64 period; /* the counter is at most so high, and then begins at 0 again */
    guint64 last;   /* its last value */
    gint64 looked;  /* when it had it, in microseconds */
    guint64 used;   /* microjoules since the beginning */
} Package;

typedef struct {
    gboolean is_used;
    const char *missing;
    guint64 first, last; /* millijoules */
} Device;

struct CtEnergyMeter {
    pthread_mutex_t lock;
    pthread_cond_t ends;
    gboolean is_over;
    GThread *thread; /* NULL: there are no packages */
    GArray *packages;
    char *missing; /* why there are none */
    Device *devices;
    guint n_devices;
};

/* ---- packages ---- */

static char *
read_text(const char *folder, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text;
    return g_file_get_contents(path, &text, NULL, error) ? g_strstrip(text) : NULL;
}

static gboolean
read_number(const char *path, guint64 *number, GError **error)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, error))
        return FALSE;
    if (g_ascii_string_to_unsigned(g_strstrip(text), 10, 0, G_MAXUINT64, number, NULL))
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: wants a number, but has '%s'", path,
                text);
    return FALSE;
}

static gboolean
read_counter(Package *package, guint64 *value, GError **error)
{
    if (!read_number(package->path, value, error))
        return FALSE;
    if (*value <= package->period)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                "%s: wants at most %" G_GUINT64_FORMAT ", its range, but has %" G_GUINT64_FORMAT,
                package->path, package->period, *value);
    return FALSE;
}

/* Adds what a package has used since the last look. A counter that was set back looks as if it had
 * begun again, after far more than a package uses. */
static gboolean
look(Package *package, GError **error)
{
    guint64 now;
    if (!read_counter(package, &now, error))
        return FALSE;
    const gint64 clock = g_get_monotonic_time();
    const gdouble seconds = (gdouble)(clock - package->looked) * 1e-6 + most_delay;
    const guint64 used =
        now >= package->last ? now - package->last : now + (package->period - package->last);
    if ((gdouble)used * 1e-6 > most_watts * seconds) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "%s: jumps from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                    ", more than a package uses",
                    package->path, package->last, now);
        return FALSE;
    }
    package->used += used;
    package->last = now;
    package->looked = clock;
    return TRUE;
}

static void
package_clear(gpointer item)
{
    Package *package = item;
    g_free(package->name);
    g_free(package->path);
}

static gboolean
has_package(const CtEnergyMeter *meter, const char *name)
{
    for (guint i = 0; i < meter->packages->len; i++)
        if (g_str_equal(g_array_index(meter->packages, Package, i).name, name))
            return TRUE;
    return FALSE;
}

static gboolean
read_package(Package *package, const char *folder, GError **error)
{
    g_autofree char *period = g_build_filename(folder, "max_energy_range_uj", NULL);
    package->path = g_build_filename(folder, "energy_uj", NULL);
    if (!read_number(period, &package->period, error))
        return FALSE;
    package->looked = g_get_monotonic_time();
    if (package->period >= LEAST_PERIOD)
        return read_counter(package, &package->last, error);
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: wants %d or more", period,
                LEAST_PERIOD);
    return FALSE;
}

/* Adds a zone of powercap, if it is a package; its parts are zones, too. A package may have two
 * zones, one for each way to its counter. FALSE: it can't be read. */
static gboolean
add_zone(CtEnergyMeter *meter, const char *folder, GError **error)
{
    g_autofree char *name = read_text(folder, "name", NULL);
    if (!name || !g_str_has_prefix(name, "package") || has_package(meter, name))
        return TRUE;
    Package package = {.name = g_steal_pointer(&name)};
    const gboolean good = read_package(&package, folder, error);
    if (good)
        g_array_append_val(meter->packages, package);
    else
        package_clear(&package);
    return good;
}

static gint
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The zones from the last name to the first: intel-rapl:0 is before intel-rapl-mmio:0. */
static GPtrArray *
find_zones(const char *folder)
{
    GPtrArray *zones = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
    const char *name;
    while (entries && (name = g_dir_read_name(entries)))
        g_ptr_array_add(zones, g_build_filename(folder, name, NULL));
    g_ptr_array_sort(zones, compare_names);
    return zones;
}

static gboolean
find_packages(CtEnergyMeter *meter, const char *folder, GError **error)
{
    g_autoptr(GPtrArray) zones = find_zones(folder);
    for (guint i = zones->len; i-- > 0;)
        if (!add_zone(meter, zones->pdata[i], error))
            return FALSE;
    if (meter->packages->len > 0)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "%s has no counters of a processor",
                folder);
    return FALSE;
}

static void
find_processor(CtEnergyMeter *meter)
{
    const char *given = ct_environment(VARIABLE);
    g_autoptr(GError) error = NULL;
    if (find_packages(meter, given && *given ? given : FOLDER, &error))
        return;
    g_array_set_size(meter->packages, 0);
    meter->missing =
        g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_ACCES)
            ? g_strdup_printf("%s; for others, root may change its mode", error->message)
            : g_strdup(error->message);
}

/* With the lock. A package that can't be read any more makes the sum unknown. */
static void
look_at_packages(CtEnergyMeter *meter)
{
    for (guint i = 0; i < meter->packages->len && !meter->missing; i++) {
        g_autoptr(GError) error = NULL;
        if (!look(&g_array_index(meter->packages, Package, i), &error))
            meter->missing = g_strdup(error->message);
    }
}

/* Nanoseconds in which no package uses so much that its counter passes its last value again. */
static gint64
find_wait(const CtEnergyMeter *meter)
{
    gdouble least = (gdouble)longest_wait;
    for (guint i = 0; i < meter->packages->len; i++) {
        const Package *package = &g_array_index(meter->packages, Package, i);
        least = MIN(least, (gdouble)package->period * 1e-6 / most_watts);
    }
    return (gint64)(least * 1e9);
}

static gpointer
watch(gpointer data)
{
    CtEnergyMeter *meter = data;
    const gint64 wait = find_wait(meter);
    pthread_mutex_lock(&meter->lock);
    while (!meter->is_over) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        const gint64 ns = until.tv_nsec + wait;
        until.tv_sec += ns / 1000000000;
        until.tv_nsec = ns % 1000000000;
        if (pthread_cond_timedwait(&meter->ends, &meter->lock, &until) == ETIMEDOUT &&
            !meter->is_over)
            look_at_packages(meter);
    }
    pthread_mutex_unlock(&meter->lock);
    return NULL;
}

/* ---- devices ---- */

static void
look_at_devices(CtEnergyMeter *meter)
{
    for (guint i = 0; i < meter->n_devices; i++) {
        Device *device = &meter->devices[i];
        if (device->is_used && !device->missing)
            ct_energy_read_device(i, &device->last, &device->missing);
    }
}

/* ---- the meter ---- */

CtEnergyMeter *
ct_energy_begin(const gboolean *uses, guint n_devices)
{
    CtEnergyMeter *meter = g_new0(CtEnergyMeter, 1);
    pthread_mutex_init(&meter->lock, NULL);
    ct_thread_init_timed(&meter->ends);
    meter->packages = g_array_new(FALSE, FALSE, sizeof(Package));
    g_array_set_clear_func(meter->packages, package_clear);
    meter->devices = g_new0(Device, n_devices);
    meter->n_devices = n_devices;
    find_processor(meter);
    for (guint i = 0; i < n_devices; i++) {
        Device *device = &meter->devices[i];
        device->is_used = uses[i];
        if (uses[i] && ct_energy_read_device(i, &device->first, &device->missing))
            device->last = device->first;
    }
    g_autoptr(GError) error = NULL;
    if (!meter->missing && !(meter->thread = ct_thread_start("energy", watch, meter, &error)))
        meter->missing = g_strdup(error->message);
    return meter;
}

/* With the lock. */
static void
look_at_all(CtEnergyMeter *meter)
{
    if (meter->is_over)
        return;
    look_at_packages(meter);
    look_at_devices(meter);
}

void
ct_energy_end(CtEnergyMeter *meter)
{
    pthread_mutex_lock(&meter->lock);
    look_at_all(meter);
    meter->is_over = TRUE;
    pthread_cond_signal(&meter->ends);
    pthread_mutex_unlock(&meter->lock);
}

void
ct_energy_free(CtEnergyMeter *meter)
{
    if (!meter)
        return;
    ct_energy_end(meter);
    if (meter->thread)
        g_thread_join(meter->thread);
    pthread_cond_destroy(&meter->ends);
    pthread_mutex_destroy(&meter->lock);
    g_array_unref(meter->packages);
    g_free(meter->devices);
    g_free(meter->missing);
    g_free(meter);
}

void
ct_energy_of_processor(CtEnergyMeter *meter, CtEnergy *energy)
{
    pthread_mutex_lock(&meter->lock);
    look_at_all(meter);
    *energy = (CtEnergy){.n_packages = meter->packages->len, .missing = meter->missing};
    for (guint i = 0; i < meter->packages->len; i++)
        energy->joules += (gdouble)g_array_index(meter->packages, Package, i).used * 1e-6;
    pthread_mutex_unlock(&meter->lock);
}

void
ct_energy_of_device(CtEnergyMeter *meter, guint device, CtEnergy *energy)
{
    pthread_mutex_lock(&meter->lock);
    look_at_all(meter);
    const Device *of = &meter->devices[device];
    *energy = (CtEnergy){
        .joules = (gdouble)(of->last - of->first) * 1e-3, .n_packages = 1, .missing = of->missing};
    pthread_mutex_unlock(&meter->lock);
}
