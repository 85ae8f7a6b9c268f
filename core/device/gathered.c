/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches, copies and fills of a stream that are gathered, and then issued together. */
#include "gathered.h"

#include <string.h>

/* The number of sequences that are kept, with their graphs: a chain whose sums end now and then, or
 * whose blocks are cut, has several, which come in turn. */
#define N_SEQUENCES 8
/* A sequence gets a graph when it comes for the third time: to make one takes as long as a hundred
 * launches. */
#define SEEN_OFTEN 3
#define ALIGNMENT  16

typedef enum { LAUNCH, COPY, FILL } Kind;

/* Two operations are compared by their bytes: what is unused is 0. */
typedef struct {
    guint64 kind;
    const CtKernel *kernel;
    guint64 serial; /* of the kernel: another one may be loaded at its address */
    CtLaunch launch;
    gsize at; /* of the values of its arguments in the list's … */
    gpointer to;
    gconstpointer from;
    gsize bytes; /* … and their size; or that of the copy or fill */
    guint32 to_host, from_host;
    guint64 value;
} Operation;

typedef struct {
    GArray *operations; /* of Operation */
    GByteArray *values; /* of the arguments of launches, each aligned to 16 bytes */
} List;

/* Operations that were issued together before. */
typedef struct {
    List last;
    guint n_seen;
    guint64 used;        /* the count of issues when it came last */
    gboolean is_refused; /* the driver makes no graph of it, or does not set its arguments */
    CtCuGraph graph;
    CtCuGraphExec exec; /* NULL: it has no graph */
    CtCuGraphNode *nodes;
} Sequence;

struct CtGathered {
    CtDevice *device;
    CtCuStream stream;
    const CtCudaGraphs *graphs; /* NULL: the driver has none */
    List now;
    GPtrArray *owners; /* by operation */
    gpointer owner;
    GPtrArray *pointers; /* to the arguments of one launch */
    Sequence sequences[N_SEQUENCES];
    guint64 n_issued;
};

/* ---- at once ---- */

gboolean
ct_enqueue_launch(CtDevice *device, CtCuStream stream, const CtKernel *kernel,
                  const CtLaunch *launch, gpointer *arguments, GError **error)
{
    const guint *grid = launch->grid, *block = launch->block;
    return ct_device_check(
        device,
        ct_device_driver(device)->launch(ct_kernel_function(kernel), grid[0], grid[1], grid[2],
                                         block[0], block[1], block[2],
                                         (unsigned)launch->shared_bytes, stream, arguments, NULL),
        error,
        "launching kernel '%s' as %u × %u × %u blocks of %u × %u × %u threads "
        "with %" G_GSIZE_FORMAT " bytes of shared memory",
        ct_kernel_name(kernel), grid[0], grid[1], grid[2], block[0], block[1], block[2],
        launch->shared_bytes);
}

gboolean
ct_enqueue_copy(CtDevice *device, CtCuStream stream, gpointer to, gconstpointer from, gsize bytes,
                GError **error)
{
    return ct_device_check(
        device,
        ct_device_driver(device)->copy(GPOINTER_TO_SIZE(to), GPOINTER_TO_SIZE(from), bytes, stream),
        error, "a copy of %" G_GSIZE_FORMAT " bytes", bytes);
}

gboolean
ct_enqueue_fill(CtDevice *device, CtCuStream stream, gpointer to, guint8 value, gsize bytes,
                GError **error)
{
    return ct_device_check(
        device, ct_device_driver(device)->fill(GPOINTER_TO_SIZE(to), value, bytes, stream), error,
        "filling %" G_GSIZE_FORMAT " bytes", bytes);
}

/* ---- lists ---- */

static void
list_init(List *list)
{
    list->operations = g_array_new(FALSE, FALSE, sizeof(Operation));
    list->values = g_byte_array_new();
}

static void
list_clear(List *list)
{
    g_array_unref(list->operations);
    g_byte_array_unref(list->values);
}

static void
list_empty(List *list)
{
    g_array_set_size(list->operations, 0);
    g_byte_array_set_size(list->values, 0);
}

static const Operation *
operation_at(const List *list, guint k)
{
    return &g_array_index(list->operations, Operation, k);
}

/* Whether the lists differ only in what can be set in a graph. */
static gboolean
are_alike(const List *a, const List *b)
{
    if (a->operations->len != b->operations->len)
        return FALSE;
    for (guint k = 0; k < a->operations->len; k++) {
        const Operation *x = operation_at(a, k), *y = operation_at(b, k);
        if (x->kind != y->kind || x->kernel != y->kernel || x->serial != y->serial ||
            x->to_host != y->to_host || x->from_host != y->from_host)
            return FALSE;
    }
    return TRUE;
}

/* Whether operation `k` is the same in two lists that are alike. */
static gboolean
are_equal(const List *a, const List *b, guint k)
{
    const Operation *x = operation_at(a, k), *y = operation_at(b, k);
    return memcmp(x, y, sizeof *x) == 0 &&
           (x->kind != LAUNCH ||
            memcmp(a->values->data + x->at, b->values->data + y->at, x->bytes) == 0);
}

/* ---- gathering ---- */

CtGathered *
ct_gathered_new(CtDevice *device, CtCuStream stream)
{
    CtGathered *self = g_new0(CtGathered, 1);
    self->device = device;
    self->stream = stream;
    self->graphs = ct_cuda_graphs();
    self->owners = g_ptr_array_new();
    self->pointers = g_ptr_array_new();
    list_init(&self->now);
    for (guint s = 0; s < N_SEQUENCES; s++)
        list_init(&self->sequences[s].last);
    return self;
}

static void
destroy_graph(const CtGathered *self, Sequence *sequence)
{
    if (sequence->exec)
        self->graphs->exec_destroy(sequence->exec);
    if (sequence->graph)
        self->graphs->destroy(sequence->graph);
    sequence->exec = NULL;
    sequence->graph = NULL;
    g_clear_pointer(&sequence->nodes, g_free);
}

void
ct_gathered_free(CtGathered *self)
{
    if (!self)
        return;
    ct_device_enter(self->device, NULL);
    for (guint s = 0; s < N_SEQUENCES; s++) {
        destroy_graph(self, &self->sequences[s]);
        list_clear(&self->sequences[s].last);
    }
    list_clear(&self->now);
    g_ptr_array_unref(self->owners);
    g_ptr_array_unref(self->pointers);
    g_free(self);
}

void
ct_gathered_set_owner(CtGathered *self, gpointer owner)
{
    self->owner = owner;
}

static void
add(CtGathered *self, const Operation *operation)
{
    g_array_append_val(self->now.operations, *operation);
    g_ptr_array_add(self->owners, self->owner);
}

gboolean
ct_gathered_launch(CtGathered *self, const CtKernel *kernel, const CtLaunch *launch,
                   gpointer *arguments)
{
    GByteArray *values = self->now.values;
    const gsize *bytes;
    const gint n = ct_kernel_arguments(kernel, &bytes);
    if (n < 0)
        return FALSE;
    Operation operation = {.kind = LAUNCH,
                           .kernel = kernel,
                           .serial = ct_kernel_serial(kernel),
                           .launch = *launch,
                           .at = values->len};
    for (gint a = 0; a < n; a++) {
        static const guint8 zeros[ALIGNMENT];
        g_byte_array_append(values, arguments[a], (guint)bytes[a]);
        g_byte_array_append(values, zeros, -values->len % ALIGNMENT);
    }
    operation.bytes = values->len - operation.at;
    add(self, &operation);
    return TRUE;
}

void
ct_gathered_copy(CtGathered *self, gpointer to, gboolean to_host, gconstpointer from,
                 gboolean from_host, gsize bytes)
{
    const Operation operation = {.kind = COPY,
                                 .to = to,
                                 .from = from,
                                 .bytes = bytes,
                                 .to_host = to_host != FALSE,
                                 .from_host = from_host != FALSE};
    add(self, &operation);
}

void
ct_gathered_fill(CtGathered *self, gpointer to, guint8 value, gsize bytes)
{
    const Operation operation = {.kind = FILL, .to = to, .bytes = bytes, .value = value};
    add(self, &operation);
}

/* ---- the operations of a graph ---- */

/* Points to the arguments of a launch that was gathered. */
static gpointer *
point_to_values(CtGathered *self, const Operation *operation)
{
    const gsize *bytes;
    const gint n = ct_kernel_arguments(operation->kernel, &bytes);
    guint8 *at = self->now.values->data + operation->at;
    g_ptr_array_set_size(self->pointers, 0);
    for (gint a = 0; a < n; a++) {
        g_ptr_array_add(self->pointers, at);
        at += (bytes[a] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return self->pointers->pdata;
}

static CtCuKernelNode
describe_launch(CtGathered *self, const Operation *operation)
{
    const guint *grid = operation->launch.grid, *block = operation->launch.block;
    return (CtCuKernelNode){
        .func = ct_kernel_function(operation->kernel),
        .gridDimX = grid[0],
        .gridDimY = grid[1],
        .gridDimZ = grid[2],
        .blockDimX = block[0],
        .blockDimY = block[1],
        .blockDimZ = block[2],
        .sharedMemBytes = (unsigned)operation->launch.shared_bytes,
        .kernelParams = point_to_values(self, operation),
    };
}

static CtCuMemcpy3D
describe_copy(const Operation *operation)
{
    const CtCuAddress from = GPOINTER_TO_SIZE(operation->from);
    return (CtCuMemcpy3D){
        .srcMemoryType = operation->from_host ? CT_CU_MEMORYTYPE_HOST : CT_CU_MEMORYTYPE_DEVICE,
        .srcHost = operation->from_host ? operation->from : NULL,
        .srcDevice = operation->from_host ? 0 : from,
        .srcPitch = operation->bytes,
        .srcHeight = 1,
        .dstMemoryType = operation->to_host ? CT_CU_MEMORYTYPE_HOST : CT_CU_MEMORYTYPE_DEVICE,
        .dstHost = operation->to_host ? operation->to : NULL,
        .dstDevice = operation->to_host ? 0 : GPOINTER_TO_SIZE(operation->to),
        .dstPitch = operation->bytes,
        .dstHeight = 1,
        .WidthInBytes = operation->bytes,
        .Height = 1,
        .Depth = 1,
    };
}

static CtCuMemsetNode
describe_fill(const Operation *operation)
{
    return (CtCuMemsetNode){
        .dst = GPOINTER_TO_SIZE(operation->to),
        .value = (unsigned)operation->value,
        .elementSize = 1,
        .width = operation->bytes,
        .height = 1,
    };
}

/* The functions for gathered operations of one kind. */
typedef struct {
    gboolean (*issue)(CtGathered *self, const Operation *operation, GError **error);
    CtCuResult (*add)(CtGathered *self, const Operation *operation, CtCuGraph graph,
                      const CtCuGraphNode *after, CtCuGraphNode *node);
    CtCuResult (*set)(CtGathered *self, const Operation *operation, CtCuGraphExec exec,
                      CtCuGraphNode node);
} Actions;

static gboolean
issue_launch(CtGathered *self, const Operation *operation, GError **error)
{
    return ct_enqueue_launch(self->device, self->stream, operation->kernel, &operation->launch,
                             point_to_values(self, operation), error);
}

static CtCuResult
add_launch(CtGathered *self, const Operation *operation, CtCuGraph graph,
           const CtCuGraphNode *after, CtCuGraphNode *node)
{
    const CtCuKernelNode launch = describe_launch(self, operation);
    return self->graphs->add_launch(node, graph, after, after != NULL, &launch);
}

static CtCuResult
set_launch(CtGathered *self, const Operation *operation, CtCuGraphExec exec, CtCuGraphNode node)
{
    const CtCuKernelNode launch = describe_launch(self, operation);
    return self->graphs->set_launch(exec, node, &launch);
}

static gboolean
issue_copy(CtGathered *self, const Operation *operation, GError **error)
{
    return ct_enqueue_copy(self->device, self->stream, operation->to, operation->from,
                           operation->bytes, error);
}

static CtCuResult
add_copy(CtGathered *self, const Operation *operation, CtCuGraph graph, const CtCuGraphNode *after,
         CtCuGraphNode *node)
{
    const CtCuMemcpy3D copy = describe_copy(operation);
    return self->graphs->add_copy(node, graph, after, after != NULL, &copy,
                                  ct_device_context(self->device));
}

static CtCuResult
set_copy(CtGathered *self, const Operation *operation, CtCuGraphExec exec, CtCuGraphNode node)
{
    const CtCuMemcpy3D copy = describe_copy(operation);
    return self->graphs->set_copy(exec, node, &copy, ct_device_context(self->device));
}

static gboolean
issue_fill(CtGathered *self, const Operation *operation, GError **error)
{
    return ct_enqueue_fill(self->device, self->stream, operation->to, (guint8)operation->value,
                           operation->bytes, error);
}

static CtCuResult
add_fill(CtGathered *self, const Operation *operation, CtCuGraph graph, const CtCuGraphNode *after,
         CtCuGraphNode *node)
{
    const CtCuMemsetNode fill = describe_fill(operation);
    return self->graphs->add_fill(node, graph, after, after != NULL, &fill,
                                  ct_device_context(self->device));
}

static CtCuResult
set_fill(CtGathered *self, const Operation *operation, CtCuGraphExec exec, CtCuGraphNode node)
{
    const CtCuMemsetNode fill = describe_fill(operation);
    return self->graphs->set_fill(exec, node, &fill, ct_device_context(self->device));
}

static const Actions actions[] = {
    [LAUNCH] = {issue_launch, add_launch, set_launch},
    [COPY] = {issue_copy, add_copy, set_copy},
    [FILL] = {issue_fill, add_fill, set_fill},
};

/* ---- issuing ---- */

/* Makes a graph of what was gathered, one operation after the other. */
static gboolean
make_graph(CtGathered *self, Sequence *sequence)
{
    const guint n = self->now.operations->len;
    CtCuResult result = self->graphs->create(&sequence->graph, 0);
    sequence->nodes = g_new0(CtCuGraphNode, n);
    for (guint k = 0; k < n && result == CT_CUDA_SUCCESS; k++) {
        const Operation *operation = operation_at(&self->now, k);
        result = actions[operation->kind].add(self, operation, sequence->graph,
                                              k > 0 ? &sequence->nodes[k - 1] : NULL,
                                              &sequence->nodes[k]);
    }
    if (result == CT_CUDA_SUCCESS)
        result = self->graphs->instantiate(&sequence->exec, sequence->graph, 0);
    return result == CT_CUDA_SUCCESS;
}

/* Sets what differs from the last time. */
static gboolean
set_graph(CtGathered *self, const Sequence *sequence)
{
    for (guint k = 0; k < self->now.operations->len; k++) {
        const Operation *operation = operation_at(&self->now, k);
        if (!are_equal(&self->now, &sequence->last, k) &&
            actions[operation->kind].set(self, operation, sequence->exec, sequence->nodes[k]) !=
                CT_CUDA_SUCCESS)
            return FALSE;
    }
    return TRUE;
}

/* The sequence of what was gathered: a known one, or a new one in the place of that which was not
 * used for longest. */
static Sequence *
find_sequence(CtGathered *self)
{
    Sequence *oldest = &self->sequences[0];
    for (guint s = 0; s < N_SEQUENCES; s++) {
        Sequence *sequence = &self->sequences[s];
        if (sequence->n_seen > 0 && are_alike(&sequence->last, &self->now))
            return sequence;
        if (sequence->used < oldest->used)
            oldest = sequence;
    }
    destroy_graph(self, oldest);
    oldest->n_seen = 0;
    oldest->is_refused = FALSE;
    return oldest;
}

/* Makes the sequence's graph ready to be launched; FALSE: it has none. */
static gboolean
prepare_graph(CtGathered *self, Sequence *sequence)
{
    if (sequence->is_refused || (!sequence->exec && sequence->n_seen < SEEN_OFTEN))
        return FALSE;
    if (sequence->exec ? set_graph(self, sequence) : make_graph(self, sequence))
        return TRUE;
    destroy_graph(self, sequence);
    sequence->is_refused = TRUE;
    return FALSE;
}

static gboolean
issue_each(CtGathered *self, gpointer *owner, GError **error)
{
    for (guint k = 0; k < self->now.operations->len; k++) {
        const Operation *operation = operation_at(&self->now, k);
        *owner = self->owners->pdata[k];
        if (!actions[operation->kind].issue(self, operation, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
issue_known(CtGathered *self, gpointer *owner, GError **error)
{
    Sequence *sequence = find_sequence(self);
    sequence->n_seen = MIN(sequence->n_seen + 1, SEEN_OFTEN);
    sequence->used = ++self->n_issued;
    const gboolean is_ready = prepare_graph(self, sequence);
    const gboolean good =
        is_ready ? ct_device_check(self->device, self->graphs->launch(sequence->exec, self->stream),
                                   error, "launching %u kernels, copies and fills",
                                   self->now.operations->len)
                 : issue_each(self, owner, error);
    const List last = sequence->last;
    sequence->last = self->now;
    self->now = last;
    return good;
}

gboolean
ct_gathered_issue(CtGathered *self, gpointer *owner, GError **error)
{
    const guint n = self->now.operations->len;
    if (n == 0)
        return TRUE;
    *owner = self->owners->pdata[0];
    const gboolean good =
        ct_device_enter(self->device, error) &&
        (self->graphs && n > 1 ? issue_known(self, owner, error) : issue_each(self, owner, error));
    list_empty(&self->now);
    g_ptr_array_set_size(self->owners, 0);
    return good;
}
