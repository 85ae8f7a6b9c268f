/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies and fills. */
#include "emulator.h"

#include <string.h>

/* A copy of rows of bytes. */
typedef struct {
    Operation operation;
    guint8 *to;
    const guint8 *from;
    size_t to_pitch, from_pitch;
    size_t bytes, rows;
    guint8 *staged; /* a copy of `from`, freed afterwards */
} Copy;

typedef struct {
    Operation operation;
    guint8 *to;
    guint8 value;
    size_t bytes;
} Fill;

static void
copy_rows(guint8 *to, size_t to_pitch, const guint8 *from, size_t from_pitch, size_t bytes,
          size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        memmove(to + r * to_pitch, from + r * from_pitch, bytes);
}

static void
run_copy(Operation *operation, G_GNUC_UNUSED Stream *stream)
{
    const Copy *copy = (const Copy *)operation;
    copy_rows(copy->to, copy->to_pitch, copy->from, copy->from_pitch, copy->bytes, copy->rows);
}

static void
release_copy(Operation *operation)
{
    g_free(((Copy *)operation)->staged);
}

/* The place of the bytes from the first row's first to the last row's last. */
static Place
place_of_rows(const guint8 *address, size_t pitch, size_t bytes, size_t rows)
{
    return emulator_place((CtCuAddress)address, (rows - 1) * pitch + bytes);
}

/* As in CUDA, host memory that is neither pinned nor registered has been read, or written, when the
 * call returns. */
static int
enqueue_copy(Context *context, const Copy *wanted, CtCuStream handle)
{
    Stream *stream;
    const int failure = emulator_stream(context, handle, FALSE, &stream);
    if (failure)
        return failure;
    if (wanted->bytes == 0 || wanted->rows == 0)
        return 0;
    if (wanted->rows > 1 &&
        (wanted->to_pitch < wanted->bytes || wanted->from_pitch < wanted->bytes))
        return INVALID_VALUE;
    const Place to = place_of_rows(wanted->to, wanted->to_pitch, wanted->bytes, wanted->rows);
    const Place from = place_of_rows(wanted->from, wanted->from_pitch, wanted->bytes, wanted->rows);
    if (to == PLACE_INVALID || from == PLACE_INVALID)
        return INVALID_VALUE;
    Copy *copy = g_new(Copy, 1);
    *copy = *wanted;
    copy->operation.run = run_copy;
    copy->operation.release = release_copy;
    if (from == PLACE_PAGEABLE) {
        copy->staged = g_malloc_n(copy->rows, copy->bytes);
        copy_rows(copy->staged, copy->bytes, copy->from, copy->from_pitch, copy->bytes, copy->rows);
        copy->from = copy->staged;
        copy->from_pitch = copy->bytes;
    }
    emulator_enqueue(stream, &copy->operation);
    if (to == PLACE_PAGEABLE) {
        emulator_stream_wait(stream);
        return emulator_stream_context(stream)->fault;
    }
    return 0;
}

int
cuMemcpyAsync(CtCuAddress to, CtCuAddress from, size_t bytes, CtCuStream stream)
{
    ENTER(context);
    const Copy copy = {.to = (guint8 *)to, .from = (const guint8 *)from, .bytes = bytes, .rows = 1};
    return enqueue_copy(context, &copy, stream);
}

/* Runs after all operations of the default stream, and waits. */
static int
copy_now(Context *context, void *to, const void *from, size_t bytes)
{
    const Copy copy = {.to = to, .from = from, .bytes = bytes, .rows = 1};
    const int failure = enqueue_copy(context, &copy, NULL);
    return failure ? failure : cuStreamSynchronize(NULL);
}

int
cuMemcpyHtoD_v2(CtCuAddress to, const void *from, size_t bytes)
{
    ENTER(context);
    return copy_now(context, (void *)to, from, bytes);
}

int
cuMemcpyDtoH_v2(void *to, CtCuAddress from, size_t bytes)
{
    ENTER(context);
    return copy_now(context, to, (const void *)from, bytes);
}

static guint8 *
corner(int type, const void *host, CtCuAddress device, size_t x, size_t y, size_t pitch)
{
    return (type == 1 ? (guint8 *)host : (guint8 *)device) + y * pitch + x;
}

/* The same as CU_DEVICE_ATTRIBUTE_MAX_PITCH on all devices. */
static const size_t most_pitch = G_MAXINT32;

int
cuMemcpy2DAsync_v2(const CtCuMemcpy2D *rows, CtCuStream stream)
{
    ENTER(context);
    if (rows->srcPitch > most_pitch || rows->dstPitch > most_pitch)
        return INVALID_VALUE;
    static const gboolean known[] = {FALSE, TRUE, TRUE, FALSE, TRUE}; /* host, device, unified */
    const unsigned from = (unsigned)rows->srcMemoryType, to = (unsigned)rows->dstMemoryType;
    if (from >= G_N_ELEMENTS(known) || to >= G_N_ELEMENTS(known) || !known[from] || !known[to])
        return INVALID_VALUE;
    const Copy copy = {
        .to = corner((int)to, rows->dstHost, rows->dstDevice, rows->dstXInBytes, rows->dstY,
                     rows->dstPitch),
        .from = corner((int)from, rows->srcHost, rows->srcDevice, rows->srcXInBytes, rows->srcY,
                       rows->srcPitch),
        .to_pitch = rows->dstPitch,
        .from_pitch = rows->srcPitch,
        .bytes = rows->WidthInBytes,
        .rows = rows->Height,
    };
    return enqueue_copy(context, &copy, stream);
}

static void
run_fill(Operation *operation, G_GNUC_UNUSED Stream *stream)
{
    const Fill *fill = (const Fill *)operation;
    memset(fill->to, fill->value, fill->bytes);
}

int
cuMemsetD8Async(CtCuAddress to, unsigned char value, size_t bytes, CtCuStream handle)
{
    ENTER(context);
    Stream *stream;
    const int failure = emulator_stream(context, handle, FALSE, &stream);
    if (failure)
        return failure;
    if (bytes == 0)
        return 0;
    const Place place = emulator_place(to, bytes);
    if (place != PLACE_DEVICE && place != PLACE_PINNED)
        return INVALID_VALUE;
    Fill *fill = g_new0(Fill, 1);
    *fill =
        (Fill){.operation = {.run = run_fill}, .to = (guint8 *)to, .value = value, .bytes = bytes};
    emulator_enqueue(stream, &fill->operation);
    return 0;
}
