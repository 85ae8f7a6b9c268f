/* SPDX-License-Identifier: BSD-3-Clause */
/* NVIDIA's driver (libcuda) and compiler (NVRTC), opened at run time: the functions and types that
 * the core uses, declared after their documentation. NVIDIA's headers are not needed for the build.
 *
 * Constants have the names of NVIDIA's headers, prefixed with CT_. */
#pragma once

#include <glib.h>

typedef int CtCuResult; /* CUresult: 0 is success */
typedef int CtCuDevice;
typedef struct CtCuContextOpaque *CtCuContext;
typedef struct CtCuStreamOpaque *CtCuStream;
typedef struct CtCuEventOpaque *CtCuEvent;
typedef struct CtCuModuleOpaque *CtCuModule;
typedef struct CtCuFunctionOpaque *CtCuFunction;
typedef struct CtCuGraphOpaque *CtCuGraph;
typedef struct CtCuGraphNodeOpaque *CtCuGraphNode;
typedef struct CtCuGraphExecOpaque *CtCuGraphExec;
typedef guint64 CtCuAddress;    /* CUdeviceptr */
typedef guint64 CtCuAllocation; /* CUmemGenericAllocationHandle */
typedef struct CtNvrtcProgramOpaque *CtNvrtcProgram;
typedef int CtNvrtcResult;

typedef struct {
    unsigned char bytes[16];
} CtCuUuid;

/* CUmemLocation, CUmemAllocationProp, CUmemAccessDesc */
typedef struct {
    int type; /* 1: a device */
    int id;
} CtCuMemLocation;

typedef struct {
    int type; /* 1: pinned */
    int requestedHandleTypes;
    CtCuMemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CtCuMemAllocationProp;

typedef struct {
    CtCuMemLocation location;
    int flags; /* 3: read and write */
} CtCuMemAccessDesc;

/* CUDA_MEMCPY2D: memory types 1 host, 2 device, 4 unified */
typedef struct {
    size_t srcXInBytes;
    size_t srcY;
    int srcMemoryType;
    const void *srcHost;
    CtCuAddress srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes;
    size_t dstY;
    int dstMemoryType;
    void *dstHost;
    CtCuAddress dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes;
    size_t Height;
} CtCuMemcpy2D;

/* CUDA_MEMCPY3D */
typedef struct {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    int srcMemoryType;
    const void *srcHost;
    CtCuAddress srcDevice;
    void *srcArray, *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    int dstMemoryType;
    void *dstHost;
    CtCuAddress dstDevice;
    void *dstArray, *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CtCuMemcpy3D;

/* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct {
    CtCuFunction func;
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void **kernelParams;
    void **extra;
    void *kern, *ctx;
} CtCuKernelNode;

/* CUDA_MEMSET_NODE_PARAMS_v1 */
typedef struct {
    CtCuAddress dst;
    size_t pitch;
    unsigned value;
    unsigned elementSize;
    size_t width, height;
} CtCuMemsetNode;

enum {
    CT_CUDA_SUCCESS = 0,
    CT_CUDA_ERROR_INVALID_VALUE = 1,
    CT_CUDA_ERROR_OUT_OF_MEMORY = 2,
    CT_CUDA_ERROR_NOT_READY = 600,
    CT_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,

    CT_CU_STREAM_NON_BLOCKING = 1,
    CT_CU_EVENT_DEFAULT = 0,
    CT_CU_EVENT_BLOCKING_SYNC = 1,
    CT_CU_EVENT_DISABLE_TIMING = 2,
    CT_CU_MEMHOSTALLOC_PORTABLE = 1,
    CT_CU_MEMHOSTREGISTER_PORTABLE = 1,
    CT_CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    CT_CU_MEM_ALLOCATION_TYPE_PINNED = 1,
    CT_CU_MEM_LOCATION_TYPE_DEVICE = 1,
    CT_CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
    CT_CU_MEMORYTYPE_HOST = 1,
    CT_CU_MEMORYTYPE_DEVICE = 2,
    CT_CU_MEMORYTYPE_UNIFIED = 4,

    CT_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    CT_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CT_CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, /* kHz */
    CT_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CT_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,       /* kHz */
    CT_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, /* bits */
    CT_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CT_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,

    CT_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CT_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CT_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
    CT_CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
    CT_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

/* Columns: name here, name in the library, arguments. */
#define CT_CUDA_DRIVER_FUNCTIONS(F)                                                                \
    F(init, cuInit, (unsigned flags))                                                              \
    F(driver_version, cuDriverGetVersion, (int *version))                                          \
    F(error_name, cuGetErrorName, (CtCuResult result, const char **name))                          \
    F(error_string, cuGetErrorString, (CtCuResult result, const char **text))                      \
    F(device_count, cuDeviceGetCount, (int *count))                                                \
    F(device_get, cuDeviceGet, (CtCuDevice * device, int index))                                   \
    F(device_name, cuDeviceGetName, (char *name, int length, CtCuDevice device))                   \
    F(device_bus_id, cuDeviceGetPCIBusId, (char *id, int length, CtCuDevice device))               \
    F(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, CtCuDevice device))      \
    F(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, CtCuDevice device))                     \
    F(context_retain, cuDevicePrimaryCtxRetain, (CtCuContext * context, CtCuDevice device))        \
    F(context_release, cuDevicePrimaryCtxRelease_v2, (CtCuDevice device))                          \
    F(context_set, cuCtxSetCurrent, (CtCuContext context))                                         \
    F(context_synchronize, cuCtxSynchronize, (void))                                               \
    F(can_access_peer, cuDeviceCanAccessPeer, (int *can, CtCuDevice device, CtCuDevice peer))      \
    F(enable_peer, cuCtxEnablePeerAccess, (CtCuContext peer, unsigned flags))                      \
    F(memory_info, cuMemGetInfo_v2, (size_t * free, size_t * total))                               \
    F(alloc, cuMemAlloc_v2, (CtCuAddress * address, size_t bytes))                                 \
    F(free, cuMemFree_v2, (CtCuAddress address))                                                   \
    F(host_alloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                   \
    F(host_free, cuMemFreeHost, (void *memory))                                                    \
    F(host_register, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags))           \
    F(host_unregister, cuMemHostUnregister, (void *memory))                                        \
    F(granularity, cuMemGetAllocationGranularity,                                                  \
      (size_t * bytes, const CtCuMemAllocationProp *property, int option))                         \
    F(address_reserve, cuMemAddressReserve,                                                        \
      (CtCuAddress * address, size_t bytes, size_t alignment, CtCuAddress hint, guint64 flags))    \
    F(address_free, cuMemAddressFree, (CtCuAddress address, size_t bytes))                         \
    F(memory_create, cuMemCreate,                                                                  \
      (CtCuAllocation * allocation, size_t bytes, const CtCuMemAllocationProp *property,           \
       guint64 flags))                                                                             \
    F(memory_release, cuMemRelease, (CtCuAllocation allocation))                                   \
    F(memory_map, cuMemMap,                                                                        \
      (CtCuAddress address, size_t bytes, size_t offset, CtCuAllocation allocation,                \
       guint64 flags))                                                                             \
    F(memory_unmap, cuMemUnmap, (CtCuAddress address, size_t bytes))                               \
    F(memory_access, cuMemSetAccess,                                                               \
      (CtCuAddress address, size_t bytes, const CtCuMemAccessDesc *access, size_t count))          \
    F(copy, cuMemcpyAsync, (CtCuAddress to, CtCuAddress from, size_t bytes, CtCuStream stream))    \
    F(copy_rows, cuMemcpy2DAsync_v2, (const CtCuMemcpy2D *copy, CtCuStream stream))                \
    F(fill, cuMemsetD8Async,                                                                       \
      (CtCuAddress to, unsigned char value, size_t bytes, CtCuStream stream))                      \
    F(stream_create, cuStreamCreate, (CtCuStream * stream, unsigned flags))                        \
    F(stream_destroy, cuStreamDestroy_v2, (CtCuStream stream))                                     \
    F(stream_synchronize, cuStreamSynchronize, (CtCuStream stream))                                \
    F(stream_wait, cuStreamWaitEvent, (CtCuStream stream, CtCuEvent event, unsigned flags))        \
    F(event_create, cuEventCreate, (CtCuEvent * event, unsigned flags))                            \
    F(event_destroy, cuEventDestroy_v2, (CtCuEvent event))                                         \
    F(event_record, cuEventRecord, (CtCuEvent event, CtCuStream stream))                           \
    F(event_query, cuEventQuery, (CtCuEvent event))                                                \
    F(event_synchronize, cuEventSynchronize, (CtCuEvent event))                                    \
    F(event_elapsed, cuEventElapsedTime, (float *milliseconds, CtCuEvent start, CtCuEvent end))    \
    F(module_load, cuModuleLoadData, (CtCuModule * module, const void *image))                     \
    F(module_unload, cuModuleUnload, (CtCuModule module))                                          \
    F(module_function, cuModuleGetFunction,                                                        \
      (CtCuFunction * function, CtCuModule module, const char *name))                              \
    F(function_get, cuFuncGetAttribute, (int *value, int attribute, CtCuFunction function))        \
    F(function_set, cuFuncSetAttribute, (CtCuFunction function, int attribute, int value))         \
    F(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                      \
      (int *blocks, CtCuFunction function, int threads, size_t shared_bytes))                      \
    F(launch, cuLaunchKernel,                                                                      \
      (CtCuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, CtCuStream stream,               \
       void **arguments, void **extra))

/* CUDA graphs; all of them are in drivers from 12.4 on. */
#define CT_CUDA_GRAPH_FUNCTIONS(F)                                                                 \
    F(parameter, cuFuncGetParamInfo,                                                               \
      (CtCuFunction function, size_t index, size_t * offset, size_t * bytes))                      \
    F(create, cuGraphCreate, (CtCuGraph * graph, unsigned flags))                                  \
    F(destroy, cuGraphDestroy, (CtCuGraph graph))                                                  \
    F(add_launch, cuGraphAddKernelNode_v2,                                                         \
      (CtCuGraphNode * node, CtCuGraph graph, const CtCuGraphNode *after, size_t n_after,          \
       const CtCuKernelNode *launch))                                                              \
    F(add_copy, cuGraphAddMemcpyNode,                                                              \
      (CtCuGraphNode * node, CtCuGraph graph, const CtCuGraphNode *after, size_t n_after,          \
       const CtCuMemcpy3D *copy, CtCuContext context))                                             \
    F(add_fill, cuGraphAddMemsetNode,                                                              \
      (CtCuGraphNode * node, CtCuGraph graph, const CtCuGraphNode *after, size_t n_after,          \
       const CtCuMemsetNode *fill, CtCuContext context))                                           \
    F(instantiate, cuGraphInstantiateWithFlags,                                                    \
      (CtCuGraphExec * exec, CtCuGraph graph, unsigned long long flags))                           \
    F(exec_destroy, cuGraphExecDestroy, (CtCuGraphExec exec))                                      \
    F(set_launch, cuGraphExecKernelNodeSetParams_v2,                                               \
      (CtCuGraphExec exec, CtCuGraphNode node, const CtCuKernelNode *launch))                      \
    F(set_copy, cuGraphExecMemcpyNodeSetParams,                                                    \
      (CtCuGraphExec exec, CtCuGraphNode node, const CtCuMemcpy3D *copy, CtCuContext context))     \
    F(set_fill, cuGraphExecMemsetNodeSetParams,                                                    \
      (CtCuGraphExec exec, CtCuGraphNode node, const CtCuMemsetNode *fill, CtCuContext context))   \
    F(launch, cuGraphLaunch, (CtCuGraphExec exec, CtCuStream stream))

#define CT_NVRTC_FUNCTIONS(F)                                                                      \
    F(version, nvrtcVersion, (int *major, int *minor))                                             \
    F(create, nvrtcCreateProgram,                                                                  \
      (CtNvrtcProgram * program, const char *source, const char *name, int n_headers,              \
       const char *const *headers, const char *const *include_names))                              \
    F(destroy, nvrtcDestroyProgram, (CtNvrtcProgram * program))                                    \
    F(compile, nvrtcCompileProgram,                                                                \
      (CtNvrtcProgram program, int n_options, const char *const *options))                         \
    F(image_bytes, nvrtcGetCUBINSize, (CtNvrtcProgram program, size_t * bytes))                    \
    F(image, nvrtcGetCUBIN, (CtNvrtcProgram program, char *image))                                 \
    F(log_bytes, nvrtcGetProgramLogSize, (CtNvrtcProgram program, size_t * bytes))                 \
    F(log, nvrtcGetProgramLog, (CtNvrtcProgram program, char *log))

#define CT_DECLARE_FUNCTION(name, symbol, arguments) int(*name) arguments;

typedef struct {
    CT_CUDA_DRIVER_FUNCTIONS(CT_DECLARE_FUNCTION)
} CtCudaDriver;

typedef struct {
    CT_CUDA_GRAPH_FUNCTIONS(CT_DECLARE_FUNCTION)
} CtCudaGraphs;

typedef struct {
    CT_NVRTC_FUNCTIONS(CT_DECLARE_FUNCTION)
} CtNvrtc;

/* The driver, opened and initialised once. NULL if the driver or a device is missing; *reason
 * (owned by the callee) then says why. Each library is opened under its usual names, or from the
 * file that the environment variable CORNERTURN_CUDA names ("off": not at all). */
const CtCudaDriver *ct_cuda_driver(const char **reason);
/* The driver's functions for graphs. NULL if it lacks any. */
const CtCudaGraphs *ct_cuda_graphs(void);
/* The compiler, opened once; like ct_cuda_driver. */
const CtNvrtc *ct_cuda_nvrtc(const char **reason);
/* NVIDIA's, even where the emulator takes the place of the driver: for dry devices. */
const CtNvrtc *ct_cuda_nvidia_nvrtc(const char **reason);
/* Opens another library of the toolkit, such as "cufft", by the same rules, and looks up `n`
 * symbols. */
gboolean ct_cuda_library(const char *name, const char *const *symbols, guint n, gpointer *functions,
                         const char **reason);
