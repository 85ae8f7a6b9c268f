/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the ceilings of this machine: copies through the caches and fused multiply-adds of each
 * instruction set, on all workers at once; copies between the host and its devices, and how much
 * these slow down concurrent kernels. */
#include "ceilings.h"

#include "device/device.h"
#include "model/isa.h"
#include "model/memory.h"
#include "model/thread.h"
#include "peak.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* Each measurement is repeated, and the best result counts; each repeat takes this long. */
enum { N_REPEATS = 5 };
static const gdouble seconds_each = 0.02;

static gdouble
now(void)
{
    return 1e-6 * (gdouble)g_get_monotonic_time();
}

/* The processor time of this thread: other processes may be running. */
static gdouble
processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (gdouble)time.tv_sec + 1e-9 * (gdouble)time.tv_nsec;
}

/* ---- one worker ---- */

static gdouble
operations_per_second(CtIsa isa)
{
    gdouble operations = 0, seconds;
    const gdouble begin = processor_seconds();
    do {
        operations += ct_peak_run(isa);
        seconds = processor_seconds() - begin;
    } while (seconds < seconds_each);
    return operations / seconds;
}

/* Bytes read and written per second by a copy. */
static gdouble
bytes_per_second(guint8 *memory, gsize bytes)
{
    const gsize half = bytes / 2;
    gdouble sum = 0, seconds;
    const gdouble begin = processor_seconds();
    do {
        memcpy(memory + half, memory, half);
        memory[0] = memory[bytes - 1] + 1;
        sum += 2.0 * (gdouble)half;
        seconds = processor_seconds() - begin;
    } while (seconds < seconds_each);
    return sum / seconds;
}

/* ---- all workers at once ---- */

/* The measurement: copies of `bytes`, or operations. */
typedef struct {
    gsize bytes; /* 0: operations of `isa` */
    CtIsa isa;
    atomic_int *n_waiting; /* the number of threads that are not ready yet */
} Task;

typedef struct {
    const Task *task;
    guint8 *memory; /* task->bytes bytes; NULL: the task needs none */
    gdouble rate;
} Share;

static gpointer
run_share(gpointer data)
{
    Share *share = data;
    const Task *task = share->task;
    if (share->memory)
        memset(share->memory, 1, task->bytes);
    atomic_fetch_sub(task->n_waiting, 1);
    while (atomic_load(task->n_waiting) > 0)
        g_thread_yield();
    for (guint i = 0; i < N_REPEATS; i++) {
        const gdouble rate = share->memory ? bytes_per_second(share->memory, task->bytes)
                                           : operations_per_second(task->isa);
        share->rate = MAX(share->rate, rate);
    }
    return NULL;
}

static gboolean
share_init(Share *share, const Task *task, GError **error)
{
    share->task = task;
    if (task->bytes)
        share->memory = ct_memory_new(task->bytes, "what a worker copies", error);
    return share->memory || !task->bytes;
}

/* Sets *rate to the rate per second of one worker while all others do the same. */
static gboolean
measure_worker(guint n_workers, gsize bytes, CtIsa isa, gdouble *rate, GError **error)
{
    atomic_int n_waiting = (int)n_workers;
    const Task task = {bytes, isa, &n_waiting};
    g_autofree Share *shares = g_new0(Share, n_workers);
    g_autofree GThread **threads = g_new(GThread *, n_workers);
    gdouble sum = 0;
    guint n = 0;
    for (; n < n_workers; n++) {
        threads[n] = share_init(&shares[n], &task, error)
                         ? ct_thread_start("roofs", run_share, &shares[n], error)
                         : NULL;
        if (!threads[n])
            break;
    }
    /* The threads that have started must not wait for threads that could not be started. */
    atomic_fetch_sub(&n_waiting, (int)(n_workers - n));
    for (guint i = 0; i < n; i++) {
        g_thread_join(threads[i]);
        sum += shares[i].rate;
    }
    for (guint i = 0; i < n_workers; i++)
        ct_memory_free(shares[i].memory, bytes);
    *rate = sum / n_workers;
    return n == n_workers;
}

/* ---- devices ---- */

enum { COPY_BYTES = 32 << 20, N_COPIES = 8 };

static gboolean
time_copies(CtDevice *device, CtCuStream stream, gpointer to, gconstpointer from, gdouble *rate,
            GError **error)
{
    const CtCudaDriver *driver = ct_device_driver(device);
    *rate = 0;
    for (guint repeat = 0; repeat < N_REPEATS; repeat++) {
        const gdouble begin = now();
        for (guint i = 0; i < N_COPIES; i++) {
            if (!ct_device_check(device,
                                 driver->copy((CtCuAddress)(gsize)to, (CtCuAddress)(gsize)from,
                                              COPY_BYTES, stream),
                                 error, "a copy of %d bytes", COPY_BYTES))
                return FALSE;
        }
        if (!ct_device_check(device, driver->stream_synchronize(stream), error,
                             "waiting for a copy"))
            return FALSE;
        *rate = MAX(*rate, (gdouble)N_COPIES * COPY_BYTES / (now() - begin));
    }
    return TRUE;
}

/* Copies within the device, too large for its caches, stand for kernels limited by its memory. They
 * are timed alone, and beside copies from the host. */
enum { N_INSIDE = 16, N_BESIDE = 4 };

static gboolean
time_inside(CtDevice *device, CtCuStream streams[2], guint8 *memory, gconstpointer host,
            guint n_beside, gdouble *seconds, GError **error)
{
    const CtCudaDriver *driver = ct_device_driver(device);
    *seconds = G_MAXDOUBLE;
    for (guint repeat = 0; repeat < N_REPEATS; repeat++) {
        const gdouble begin = now();
        for (guint i = 0; i < n_beside + N_INSIDE; i++) {
            const gboolean is_beside = i < n_beside;
            const gsize to = (gsize)memory + (is_beside ? 0 : COPY_BYTES);
            const gsize from = is_beside ? (gsize)host : (gsize)memory + 2 * (gsize)COPY_BYTES;
            if (!ct_device_check(device,
                                 driver->copy((CtCuAddress)to, (CtCuAddress)from, COPY_BYTES,
                                              streams[is_beside]),
                                 error, "a copy of %d bytes", COPY_BYTES))
                return FALSE;
        }
        if (!ct_device_check(device, driver->stream_synchronize(streams[0]), error,
                             "waiting for a copy"))
            return FALSE;
        *seconds = MIN(*seconds, now() - begin);
        if (!ct_device_check(device, driver->stream_synchronize(streams[1]), error,
                             "waiting for a copy"))
            return FALSE;
    }
    return TRUE;
}

static void
add_ceiling(GPtrArray *ceilings, const char *machine, const char *name, gdouble value)
{
    CtCeiling *ceiling = g_new0(CtCeiling, 1);
    ceiling->machine = g_strdup(machine);
    ceiling->name = g_strdup(name);
    ceiling->value = value;
    ceiling->time = g_get_real_time() / G_USEC_PER_SEC;
    g_ptr_array_add(ceilings, ceiling);
}

static const char copy_to_device[] = "copy to device", copy_to_host[] = "copy to host";
static const char share_of_copies[] = "share of copies";

/* A value outside these limits is noise. */
static const gdouble least_share = 1e-3, most_share = 0.5;

static gboolean
measure_device(const CtMachine *machine, guint index, GPtrArray *ceilings, GError **error)
{
    g_autoptr(CtDevice) device = ct_device_open(index, error);
    if (!device || !ct_device_enter(device, error))
        return FALSE;
    const CtCudaDriver *driver = ct_device_driver(device);
    void *host = NULL;
    CtCuStream streams[2] = {NULL, NULL};
    gdouble rates[2] = {0}, alone = 0, beside = 0;
    guint8 *memory = ct_device_alloc(device, 3 * (gsize)COPY_BYTES, "roofs", error);
    const gboolean good =
        memory &&
        ct_device_check(device, driver->host_alloc(&host, COPY_BYTES, 0), error, "pinning %d bytes",
                        COPY_BYTES) &&
        ct_device_check(device, driver->stream_create(&streams[0], CT_CU_STREAM_NON_BLOCKING),
                        error, "a stream") &&
        ct_device_check(device, driver->stream_create(&streams[1], CT_CU_STREAM_NON_BLOCKING),
                        error, "a stream") &&
        time_copies(device, streams[0], memory, host, &rates[0], error) &&
        time_copies(device, streams[0], host, memory, &rates[1], error) &&
        time_inside(device, streams, memory, host, 0, &alone, error) &&
        time_inside(device, streams, memory, host, N_BESIDE, &beside, error);
    for (guint i = 0; i < G_N_ELEMENTS(streams); i++) {
        if (streams[i])
            driver->stream_destroy(streams[i]);
    }
    if (host)
        driver->host_free(host);
    ct_device_free(device, memory);
    if (!good)
        return FALSE;
    add_ceiling(ceilings, ct_machine_name(machine, (gint)index), copy_to_device, rates[0]);
    add_ceiling(ceilings, ct_machine_name(machine, (gint)index), copy_to_host, rates[1]);
    add_ceiling(ceilings, ct_machine_name(machine, (gint)index), share_of_copies,
                CLAMP(1 - alone / MAX(beside, 1e-9), least_share, most_share));
    return TRUE;
}

/* ---- the whole machine ---- */

static const char bandwidth[] = "memory bandwidth";

/* Allocated. */
static char *
peak_name(CtIsa isa)
{
    return g_strdup_printf("peak %s", ct_isa_name(isa));
}

/* The size of a copy, in caches of a worker. */
static const gsize caches_copied = 16;

GPtrArray *
ct_ceilings_measure(const CtMachine *machine, GError **error)
{
    g_autoptr(GPtrArray) ceilings = g_ptr_array_new_with_free_func((GDestroyNotify)ct_ceiling_free);
    const guint n = machine->n_workers;
    /* Copies are as large as links are, so that data leave the cache of the worker that wrote them,
     * but take no more than an eighth of the memory. */
    const gsize most = machine->memory_bytes > 0 ? machine->memory_bytes / 8 / n : G_MAXSIZE;
    gdouble rate;
    if (!measure_worker(n, MIN(caches_copied * machine->cache_bytes, most), CT_ISA_BASELINE, &rate,
                        error))
        return NULL;
    add_ceiling(ceilings, machine->name, bandwidth, rate);
    for (CtIsa isa = 0; isa < CT_N_ISAS; isa++) {
        if (!ct_peak_is_known(isa))
            continue;
        if (!measure_worker(n, 0, isa, &rate, error))
            return NULL;
        g_autofree char *name = peak_name(isa);
        add_ceiling(ceilings, machine->name, name, rate);
    }
    for (guint d = 0; d < machine->n_devices; d++) {
        /* Devices of one kind share their ceilings. */
        guint first = 0;
        while (
            !g_str_equal(ct_machine_name(machine, (gint)first), ct_machine_name(machine, (gint)d)))
            first++;
        if (first == d && !measure_device(machine, d, ceilings, error))
            return NULL;
    }
    return g_steal_pointer(&ceilings);
}

gboolean
ct_ceilings_apply(CtMachine *machine, const GPtrArray *ceilings)
{
    gboolean is_known = FALSE;
    for (guint i = 0; i < ceilings->len; i++) {
        const CtCeiling *ceiling = g_ptr_array_index(ceilings, i);
        if (ceiling->value <= 0)
            continue;
        const gboolean is_host = g_str_equal(ceiling->machine, machine->name);
        if (is_host && g_str_equal(ceiling->name, bandwidth)) {
            machine->bandwidth = ceiling->value;
            is_known = TRUE;
        }
        for (CtIsa isa = 0; is_host && isa < CT_N_ISAS; isa++) {
            g_autofree char *name = peak_name(isa);
            if (g_str_equal(ceiling->name, name))
                machine->peak[isa] = ceiling->value;
        }
        for (gint d = 0; d < (gint)machine->n_devices; d++) {
            if (!g_str_equal(ceiling->machine, ct_machine_name(machine, d)))
                continue;
            if (g_str_equal(ceiling->name, copy_to_device))
                machine->copy_to_device = ceiling->value;
            else if (g_str_equal(ceiling->name, copy_to_host))
                machine->copy_to_host = ceiling->value;
            else if (g_str_equal(ceiling->name, share_of_copies))
                machine->share_of_copies = ceiling->value;
        }
    }
    return is_known;
}
