/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams, each a thread that runs its operations in order, and events. */
#include "emulator.h"

#include <time.h>

/* Threads that enqueue hold the lock `producers`. The stream's own thread takes no lock; other
 * threads learn of its progress only through recordings. */
struct CtCuStreamOpaque {
    Context *context;
    pthread_t thread;
    pthread_mutex_t producers;
    sem_t ready;
    Operation *head; /* of the stream's thread; the last operation that has run */
    Operation *tail; /* of the enqueuing threads */
    Runner *runner;  /* of the stream's thread */
    unsigned random;
};

/* A recording of an event; it is complete once the stream has reached it. */
struct Recording {
    atomic_int uses;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    gboolean complete;
    gint64 nanoseconds;
};

struct CtCuEventOpaque {
    Context *context;
    gboolean timed;
    pthread_mutex_t lock;
    Recording *recording; /* the most recent; NULL: none yet */
};

typedef struct {
    Operation operation;
    Recording *recording;
} RecordingOperation;

/* ---- recordings ---- */

static Recording *
recording_new(void)
{
    Recording *recording = g_new0(Recording, 1);
    recording->uses = 1;
    pthread_mutex_init(&recording->lock, NULL);
    pthread_cond_init(&recording->changed, NULL);
    return recording;
}

static Recording *
recording_use(Recording *recording)
{
    atomic_fetch_add(&recording->uses, 1);
    return recording;
}

static void
recording_release(Recording *recording)
{
    if (!recording || atomic_fetch_sub(&recording->uses, 1) != 1)
        return;
    pthread_cond_destroy(&recording->changed);
    pthread_mutex_destroy(&recording->lock);
    g_free(recording);
}

static void
recording_wait(Recording *recording)
{
    pthread_mutex_lock(&recording->lock);
    while (!recording->complete)
        pthread_cond_wait(&recording->changed, &recording->lock);
    pthread_mutex_unlock(&recording->lock);
}

static gboolean
recording_is_complete(Recording *recording)
{
    pthread_mutex_lock(&recording->lock);
    const gboolean complete = recording->complete;
    pthread_mutex_unlock(&recording->lock);
    return complete;
}

static void
run_record(Operation *operation, G_GNUC_UNUSED Stream *stream)
{
    Recording *recording = ((RecordingOperation *)operation)->recording;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&recording->lock);
    recording->complete = TRUE;
    recording->nanoseconds = (gint64)now.tv_sec * 1000000000 + now.tv_nsec;
    pthread_cond_broadcast(&recording->changed);
    pthread_mutex_unlock(&recording->lock);
}

static void
run_wait(Operation *operation, G_GNUC_UNUSED Stream *stream)
{
    recording_wait(((RecordingOperation *)operation)->recording);
}

static void
release_recording_operation(Operation *operation)
{
    recording_release(((RecordingOperation *)operation)->recording);
}

/* Takes over one reference to the recording. */
static void
enqueue_recording(Stream *stream, Recording *recording, void (*run)(Operation *, Stream *))
{
    RecordingOperation *operation = g_new0(RecordingOperation, 1);
    operation->operation.run = run;
    operation->operation.release = release_recording_operation;
    operation->operation.always = TRUE;
    operation->recording = recording;
    emulator_enqueue(stream, &operation->operation);
}

/* ---- streams ---- */

static void
jitter(Stream *stream)
{
    const unsigned most = emulator_settings()->jitter;
    if (most == 0)
        return;
    const unsigned microseconds = (unsigned)rand_r(&stream->random) % (most + 1);
    const struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000L};
    nanosleep(&time, NULL);
}

static void *
consume(void *data)
{
    Stream *stream = data;
    for (;;) {
        while (sem_wait(&stream->ready) != 0)
            ;
        /* The last operation that has run stays until there is a next one, because producers link
         * that to it. */
        Operation *operation = atomic_load_explicit(&stream->head->next, memory_order_acquire);
        g_free(stream->head);
        stream->head = operation;
        if (!operation->run)
            return NULL;
        jitter(stream);
        if (operation->always || !stream->context->fault)
            operation->run(operation, stream);
        if (operation->release)
            operation->release(operation);
    }
}

void
emulator_enqueue(Stream *stream, Operation *operation)
{
    pthread_mutex_lock(&stream->producers);
    Operation *last = stream->tail;
    stream->tail = operation;
    atomic_store_explicit(&last->next, operation, memory_order_release);
    pthread_mutex_unlock(&stream->producers);
    sem_post(&stream->ready);
}

static void
stream_destroy(Stream *stream)
{
    g_free(stream->head);
    emulator_runner_free(stream->runner);
    sem_destroy(&stream->ready);
    pthread_mutex_destroy(&stream->producers);
    g_free(stream);
}

/* NULL: no thread can be started. */
static Stream *
stream_new(Context *context)
{
    Stream *stream = g_new0(Stream, 1);
    stream->context = context;
    pthread_mutex_init(&stream->producers, NULL);
    sem_init(&stream->ready, 0, 0);
    stream->head = stream->tail = g_new0(Operation, 1);
    stream->runner = emulator_runner_new();
    stream->random = emulator_settings()->seed + context->streams->len;
    if (pthread_create(&stream->thread, NULL, consume, stream) == 0)
        return stream;
    stream_destroy(stream);
    return NULL;
}

/* Waits for all that is enqueued, and frees the stream. */
static void
stream_free(Stream *stream)
{
    emulator_enqueue(stream, g_new0(Operation, 1));
    pthread_join(stream->thread, NULL);
    stream_destroy(stream);
}

static Stream *
default_stream(Context *context)
{
    if (context->streams->len == 0) {
        Stream *stream = stream_new(context);
        if (!stream)
            return NULL;
        g_ptr_array_add(context->streams, stream);
    }
    return context->streams->pdata[0];
}

static gboolean
is_stream_of(Context *context, const Stream *stream)
{
    pthread_mutex_lock(&context->lock);
    const gboolean found = g_ptr_array_find(context->streams, stream, NULL);
    pthread_mutex_unlock(&context->lock);
    return found;
}

int
emulator_stream(Context *context, CtCuStream handle, gboolean same_context, Stream **stream)
{
    if (!handle) {
        pthread_mutex_lock(&context->lock);
        *stream = default_stream(context);
        pthread_mutex_unlock(&context->lock);
        return *stream ? 0 : OUT_OF_MEMORY;
    }
    gboolean found = is_stream_of(context, handle);
    for (unsigned d = 0; d < emulator_settings()->n_devices && !found && !same_context; d++)
        found = is_stream_of(emulator_context((int)d), handle);
    if (!found)
        return INVALID_HANDLE;
    *stream = handle;
    return handle->context->fault;
}

Runner *
emulator_stream_runner(Stream *stream)
{
    return stream->runner;
}

Context *
emulator_stream_context(const Stream *stream)
{
    return stream->context;
}

/* Makes a recording that is complete when all that is now enqueued has run. */
static Recording *
record(Stream *stream)
{
    Recording *recording = recording_new();
    enqueue_recording(stream, recording_use(recording), run_record);
    return recording;
}

void
emulator_stream_wait(Stream *stream)
{
    Recording *recording = record(stream);
    recording_wait(recording);
    recording_release(recording);
}

void
emulator_context_wait(Context *context)
{
    pthread_mutex_lock(&context->lock);
    const unsigned n = context->streams->len;
    g_autofree Recording **recordings = g_new(Recording *, n);
    for (unsigned s = 0; s < n; s++)
        recordings[s] = record(context->streams->pdata[s]);
    pthread_mutex_unlock(&context->lock);
    for (unsigned s = 0; s < n; s++) {
        recording_wait(recordings[s]);
        recording_release(recordings[s]);
    }
}

void
emulator_streams_reset(Context *context)
{
    pthread_mutex_lock(&context->lock);
    g_autoptr(GPtrArray) streams = context->streams;
    context->streams = g_ptr_array_new();
    pthread_mutex_unlock(&context->lock);
    for (unsigned s = 0; s < streams->len; s++)
        stream_free(streams->pdata[s]);
}

int
cuStreamCreate(CtCuStream *stream, unsigned flags)
{
    ENTER(context);
    if (flags & ~(unsigned)CT_CU_STREAM_NON_BLOCKING)
        return INVALID_VALUE;
    pthread_mutex_lock(&context->lock);
    Stream *made = default_stream(context) ? stream_new(context) : NULL;
    if (made)
        g_ptr_array_add(context->streams, made);
    pthread_mutex_unlock(&context->lock);
    if (!made)
        return OUT_OF_MEMORY;
    *stream = made;
    emulator_count(EMULATOR_STREAM, 1);
    return 0;
}

int
cuStreamDestroy_v2(CtCuStream stream)
{
    ENTER_ANYWAY(context);
    pthread_mutex_lock(&context->lock);
    const gboolean found = stream && g_ptr_array_remove(context->streams, stream);
    pthread_mutex_unlock(&context->lock);
    if (!found)
        return INVALID_HANDLE;
    stream_free(stream);
    emulator_count(EMULATOR_STREAM, -1);
    return context->fault;
}

int
cuStreamSynchronize(CtCuStream handle)
{
    ENTER(context);
    Stream *stream;
    const int failure = emulator_stream(context, handle, FALSE, &stream);
    if (failure)
        return failure;
    emulator_stream_wait(stream);
    return stream->context->fault;
}

/* ---- events ---- */

/* A reference to the most recent recording; NULL: there is none. */
static Recording *
event_recording(CtCuEvent event)
{
    pthread_mutex_lock(&event->lock);
    Recording *recording = event->recording ? recording_use(event->recording) : NULL;
    pthread_mutex_unlock(&event->lock);
    return recording;
}

int
cuEventCreate(CtCuEvent *event, unsigned flags)
{
    ENTER(context);
    *event = g_new0(struct CtCuEventOpaque, 1);
    (*event)->context = context;
    (*event)->timed = !(flags & CT_CU_EVENT_DISABLE_TIMING);
    pthread_mutex_init(&(*event)->lock, NULL);
    emulator_count(EMULATOR_EVENT, 1);
    return 0;
}

int
cuEventDestroy_v2(CtCuEvent event)
{
    ENTER_ANYWAY(context);
    if (!event)
        return INVALID_HANDLE;
    recording_release(event->recording);
    pthread_mutex_destroy(&event->lock);
    g_free(event);
    emulator_count(EMULATOR_EVENT, -1);
    return context->fault;
}

int
cuEventRecord(CtCuEvent event, CtCuStream handle)
{
    ENTER(context);
    Stream *stream;
    const int failure = emulator_stream(context, handle, FALSE, &stream);
    if (failure)
        return failure;
    if (!event || event->context != stream->context)
        return INVALID_HANDLE;
    Recording *recording = record(stream);
    pthread_mutex_lock(&event->lock);
    Recording *before = event->recording;
    event->recording = recording;
    pthread_mutex_unlock(&event->lock);
    recording_release(before);
    return 0;
}

int
cuStreamWaitEvent(CtCuStream handle, CtCuEvent event, unsigned flags)
{
    ENTER(context);
    Stream *stream;
    const int failure = emulator_stream(context, handle, FALSE, &stream);
    if (failure)
        return failure;
    if (!event)
        return INVALID_HANDLE;
    if (flags)
        return INVALID_VALUE;
    Recording *recording = event_recording(event);
    if (recording)
        enqueue_recording(stream, recording, run_wait);
    return 0;
}

int
cuEventQuery(CtCuEvent event)
{
    ENTER(context);
    (void)context;
    if (!event)
        return INVALID_HANDLE;
    Recording *recording = event_recording(event);
    const gboolean complete = !recording || recording_is_complete(recording);
    recording_release(recording);
    return event->context->fault ?: complete ? 0 : NOT_READY;
}

int
cuEventSynchronize(CtCuEvent event)
{
    ENTER(context);
    (void)context;
    if (!event)
        return INVALID_HANDLE;
    Recording *recording = event_recording(event);
    if (recording)
        recording_wait(recording);
    recording_release(recording);
    return event->context->fault;
}

int
cuEventElapsedTime(float *milliseconds, CtCuEvent start, CtCuEvent end)
{
    ENTER(context);
    (void)context;
    if (!start || !end || !start->timed || !end->timed || start->context != end->context)
        return INVALID_HANDLE;
    Recording *first = event_recording(start), *last = event_recording(end);
    int failure = !first || !last ? INVALID_HANDLE : 0;
    if (!failure && (!recording_is_complete(first) || !recording_is_complete(last)))
        failure = NOT_READY;
    if (!failure)
        *milliseconds = (float)((double)(last->nanoseconds - first->nanoseconds) * 1e-6);
    recording_release(first);
    recording_release(last);
    return failure;
}
