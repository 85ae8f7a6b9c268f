/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs: sequences of launches, copies and fills, which are enqueued together. Only sequences are
 * known: each node comes after the one that was added before it. */
#include "emulator.h"

#include <string.h>

typedef enum { NODE_LAUNCH, NODE_COPY, NODE_FILL } NodeKind;

struct CtCuGraphNodeOpaque {
    CtCuGraph graph;
    NodeKind kind;
    CtCuKernelNode launch; /* with arguments of its own */
    CtCuMemcpy3D copy;
    CtCuMemsetNode fill;
};

struct CtCuGraphOpaque {
    Context *context;
    GPtrArray *nodes; /* of CtCuGraphNode */
};

/* Keeps the values of its nodes, and the handles by which they are set. */
struct CtCuGraphExecOpaque {
    Context *context;
    CtCuGraph graph;
    GPtrArray *nodes; /* of CtCuGraphNode: copies, in the graph's order */
};

static void
node_free(void *data)
{
    CtCuGraphNode node = data;
    if (node->kind == NODE_LAUNCH)
        g_free(node->launch.kernelParams);
    g_free(node);
}

/* Takes the values over; those of a launch's arguments are copied. */
static CtCuGraphNode
node_new(const struct CtCuGraphNodeOpaque *values)
{
    CtCuGraphNode node = g_new(struct CtCuGraphNodeOpaque, 1);
    *node = *values;
    if (node->kind == NODE_LAUNCH)
        node->launch.kernelParams =
            emulator_copy_arguments(node->launch.func, values->launch.kernelParams);
    return node;
}

int
cuGraphCreate(CtCuGraph *graph, unsigned flags)
{
    ENTER(context);
    if (flags)
        return INVALID_VALUE;
    *graph = g_new(struct CtCuGraphOpaque, 1);
    **graph = (struct CtCuGraphOpaque){context, g_ptr_array_new_with_free_func(node_free)};
    emulator_count(EMULATOR_GRAPH, 1);
    return 0;
}

int
cuGraphDestroy(CtCuGraph graph)
{
    ENTER_ANYWAY(context);
    if (!graph)
        return INVALID_HANDLE;
    g_ptr_array_unref(graph->nodes);
    g_free(graph);
    emulator_count(EMULATOR_GRAPH, -1);
    return context->fault;
}

static int
add(CtCuGraphNode *node, CtCuGraph graph, const CtCuGraphNode *after, size_t n_after,
    struct CtCuGraphNodeOpaque *values)
{
    const unsigned n = graph ? graph->nodes->len : 0;
    if (!graph || n_after != MIN(n, 1) || (n > 0 && after[0] != graph->nodes->pdata[n - 1]))
        return INVALID_VALUE;
    values->graph = graph;
    *node = node_new(values);
    g_ptr_array_add(graph->nodes, *node);
    return 0;
}

static gboolean
is_launch(const CtCuKernelNode *launch)
{
    return launch->func && launch->kernelParams && !launch->extra && !launch->kern && !launch->ctx;
}

int
cuGraphAddKernelNode_v2(CtCuGraphNode *node, CtCuGraph graph, const CtCuGraphNode *after,
                        size_t n_after, const CtCuKernelNode *launch)
{
    ENTER(context);
    (void)context;
    struct CtCuGraphNodeOpaque values = {.kind = NODE_LAUNCH, .launch = *launch};
    return is_launch(launch) ? add(node, graph, after, n_after, &values) : INVALID_VALUE;
}

static void *
side(int type, const void *host, CtCuAddress device)
{
    return type == CT_CU_MEMORYTYPE_HOST ? (void *)host : (void *)device;
}

static void *
source_of(const CtCuMemcpy3D *copy)
{
    return side(copy->srcMemoryType, copy->srcHost, copy->srcDevice);
}

static void *
target_of(const CtCuMemcpy3D *copy)
{
    return side(copy->dstMemoryType, copy->dstHost, copy->dstDevice);
}

/* Whether memory of this type is at the address. Copies of pageable memory are left out. */
static gboolean
is_there(int type, const void *address, size_t bytes)
{
    const Place place = emulator_place((CtCuAddress)address, bytes);
    return type == CT_CU_MEMORYTYPE_HOST ? place == PLACE_PINNED : place == PLACE_DEVICE;
}

static gboolean
is_copy(const Context *context, const CtCuMemcpy3D *copy, CtCuContext wanted)
{
    const size_t bytes = copy->WidthInBytes;
    return wanted == context && bytes > 0 && copy->Height == 1 && copy->Depth == 1 &&
           is_there(copy->srcMemoryType, source_of(copy), bytes) &&
           is_there(copy->dstMemoryType, target_of(copy), bytes);
}

int
cuGraphAddMemcpyNode(CtCuGraphNode *node, CtCuGraph graph, const CtCuGraphNode *after,
                     size_t n_after, const CtCuMemcpy3D *copy, CtCuContext wanted)
{
    ENTER(context);
    struct CtCuGraphNodeOpaque values = {.kind = NODE_COPY, .copy = *copy};
    return is_copy(context, copy, wanted) ? add(node, graph, after, n_after, &values)
                                          : INVALID_VALUE;
}

static gboolean
is_fill(const Context *context, const CtCuMemsetNode *fill, CtCuContext wanted)
{
    return wanted == context && fill->elementSize == 1 && fill->height == 1 && fill->width > 0 &&
           emulator_place(fill->dst, fill->width) == PLACE_DEVICE;
}

int
cuGraphAddMemsetNode(CtCuGraphNode *node, CtCuGraph graph, const CtCuGraphNode *after,
                     size_t n_after, const CtCuMemsetNode *fill, CtCuContext wanted)
{
    ENTER(context);
    struct CtCuGraphNodeOpaque values = {.kind = NODE_FILL, .fill = *fill};
    return is_fill(context, fill, wanted) ? add(node, graph, after, n_after, &values)
                                          : INVALID_VALUE;
}

int
cuGraphInstantiateWithFlags(CtCuGraphExec *result, CtCuGraph graph, unsigned long long flags)
{
    ENTER(context);
    if (!graph || flags)
        return INVALID_VALUE;
    CtCuGraphExec exec = g_new(struct CtCuGraphExecOpaque, 1);
    *exec = (struct CtCuGraphExecOpaque){context, graph, g_ptr_array_new_with_free_func(node_free)};
    for (unsigned n = 0; n < graph->nodes->len; n++)
        g_ptr_array_add(exec->nodes, node_new(graph->nodes->pdata[n]));
    *result = exec;
    emulator_count(EMULATOR_GRAPH_EXEC, 1);
    return 0;
}

int
cuGraphExecDestroy(CtCuGraphExec exec)
{
    ENTER_ANYWAY(context);
    if (!exec)
        return INVALID_HANDLE;
    g_ptr_array_unref(exec->nodes);
    g_free(exec);
    emulator_count(EMULATOR_GRAPH_EXEC, -1);
    return context->fault;
}

/* The place of a node of the graph from which `exec` was made; NULL: it has none of this kind. */
static CtCuGraphNode *
find(CtCuGraphExec exec, CtCuGraphNode node, NodeKind kind)
{
    for (unsigned n = 0; exec && n < exec->nodes->len; n++)
        if (exec->graph->nodes->pdata[n] == node && node->kind == kind)
            return (CtCuGraphNode *)&exec->nodes->pdata[n];
    return NULL;
}

/* Launches that are enqueued keep their values. */
static int
set(CtCuGraphNode *place, const struct CtCuGraphNodeOpaque *values)
{
    node_free(*place);
    *place = node_new(values);
    return 0;
}

int
cuGraphExecKernelNodeSetParams_v2(CtCuGraphExec exec, CtCuGraphNode node,
                                  const CtCuKernelNode *launch)
{
    ENTER(context);
    (void)context;
    CtCuGraphNode *place = find(exec, node, NODE_LAUNCH);
    const struct CtCuGraphNodeOpaque values = {.kind = NODE_LAUNCH, .launch = *launch};
    return place && is_launch(launch) ? set(place, &values) : INVALID_VALUE;
}

int
cuGraphExecMemcpyNodeSetParams(CtCuGraphExec exec, CtCuGraphNode node, const CtCuMemcpy3D *copy,
                               CtCuContext wanted)
{
    ENTER(context);
    CtCuGraphNode *place = find(exec, node, NODE_COPY);
    const struct CtCuGraphNodeOpaque values = {.kind = NODE_COPY, .copy = *copy};
    if (!place || !is_copy(context, copy, wanted) ||
        copy->srcMemoryType != (*place)->copy.srcMemoryType ||
        copy->dstMemoryType != (*place)->copy.dstMemoryType)
        return INVALID_VALUE;
    return set(place, &values);
}

int
cuGraphExecMemsetNodeSetParams(CtCuGraphExec exec, CtCuGraphNode node, const CtCuMemsetNode *fill,
                               CtCuContext wanted)
{
    ENTER(context);
    CtCuGraphNode *place = find(exec, node, NODE_FILL);
    const struct CtCuGraphNodeOpaque values = {.kind = NODE_FILL, .fill = *fill};
    return place && is_fill(context, fill, wanted) ? set(place, &values) : INVALID_VALUE;
}

static int
enqueue(const struct CtCuGraphNodeOpaque *node, CtCuStream stream)
{
    const CtCuKernelNode *launch = &node->launch;
    if (node->kind == NODE_FILL)
        return cuMemsetD8Async(node->fill.dst, (unsigned char)node->fill.value, node->fill.width,
                               stream);
    if (node->kind == NODE_COPY)
        return cuMemcpyAsync((CtCuAddress)target_of(&node->copy),
                             (CtCuAddress)source_of(&node->copy), node->copy.WidthInBytes, stream);
    return cuLaunchKernel(launch->func, launch->gridDimX, launch->gridDimY, launch->gridDimZ,
                          launch->blockDimX, launch->blockDimY, launch->blockDimZ,
                          launch->sharedMemBytes, stream, launch->kernelParams, NULL);
}

static atomic_uint n_launches;

unsigned
cornerturn_emulator_graph_launches(void)
{
    return n_launches;
}

int
cuGraphLaunch(CtCuGraphExec exec, CtCuStream stream)
{
    ENTER(context);
    if (!exec || exec->context != context)
        return INVALID_HANDLE;
    int failure = 0;
    atomic_fetch_add(&n_launches, 1);
    for (unsigned n = 0; n < exec->nodes->len && !failure; n++)
        failure = enqueue(exec->nodes->pdata[n], stream);
    return failure;
}
