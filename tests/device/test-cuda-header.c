/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares core/device/cuda-driver.h with the headers of the driver and of the compiler. Built only
 * where these are found. */
#include "device/cuda-driver.h"

#include <cuda.h>
#include <nvrtc.h>

#define same(name) g_assert_cmpint(CT_##name, ==, name)

static void
test_constants(void)
{
    same(CUDA_SUCCESS);
    same(CUDA_ERROR_OUT_OF_MEMORY);
    same(CUDA_ERROR_NOT_READY);
    same(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    same(CU_STREAM_NON_BLOCKING);
    same(CU_EVENT_DEFAULT);
    same(CU_EVENT_BLOCKING_SYNC);
    same(CU_EVENT_DISABLE_TIMING);
    g_assert_cmpint(CT_CU_MEMHOSTALLOC_PORTABLE, ==, CU_MEMHOSTALLOC_PORTABLE);
    g_assert_cmpint(CT_CU_MEMHOSTREGISTER_PORTABLE, ==, CU_MEMHOSTREGISTER_PORTABLE);
    same(CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    same(CU_MEM_ALLOCATION_TYPE_PINNED);
    same(CU_MEM_LOCATION_TYPE_DEVICE);
    same(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    same(CU_MEMORYTYPE_UNIFIED);
    same(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    same(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    same(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    same(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    same(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    same(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    same(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    same(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    same(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    same(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
    same(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    same(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    same(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    same(CU_FUNC_ATTRIBUTE_NUM_REGS);
    same(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
}

#define same_place(ours, theirs, member)                                                           \
    g_assert_cmpuint(G_STRUCT_OFFSET(ours, member), ==, G_STRUCT_OFFSET(theirs, member))

static void
test_structs(void)
{
    g_assert_cmpuint(sizeof(CtCuMemLocation), ==, sizeof(CUmemLocation));
    same_place(CtCuMemLocation, CUmemLocation, id);
    g_assert_cmpuint(sizeof(CtCuMemAllocationProp), ==, sizeof(CUmemAllocationProp));
    same_place(CtCuMemAllocationProp, CUmemAllocationProp, requestedHandleTypes);
    same_place(CtCuMemAllocationProp, CUmemAllocationProp, location);
    same_place(CtCuMemAllocationProp, CUmemAllocationProp, win32HandleMetaData);
    same_place(CtCuMemAllocationProp, CUmemAllocationProp, allocFlags);
    g_assert_cmpuint(sizeof(CtCuMemAccessDesc), ==, sizeof(CUmemAccessDesc));
    same_place(CtCuMemAccessDesc, CUmemAccessDesc, flags);
    g_assert_cmpuint(sizeof(CtCuMemcpy2D), ==, sizeof(CUDA_MEMCPY2D));
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, srcMemoryType);
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, srcHost);
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, srcDevice);
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, srcPitch);
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, dstXInBytes);
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, dstMemoryType);
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, dstHost);
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, dstDevice);
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, dstPitch);
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, WidthInBytes);
    same_place(CtCuMemcpy2D, CUDA_MEMCPY2D, Height);
    g_assert_cmpuint(sizeof(CtCuMemcpy3D), ==, sizeof(CUDA_MEMCPY3D));
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, srcMemoryType);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, srcHost);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, srcDevice);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, srcPitch);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, srcHeight);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, dstMemoryType);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, dstHost);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, dstDevice);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, dstPitch);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, dstHeight);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, WidthInBytes);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, Height);
    same_place(CtCuMemcpy3D, CUDA_MEMCPY3D, Depth);
    g_assert_cmpuint(sizeof(CtCuKernelNode), ==, sizeof(CUDA_KERNEL_NODE_PARAMS));
    same_place(CtCuKernelNode, CUDA_KERNEL_NODE_PARAMS, func);
    same_place(CtCuKernelNode, CUDA_KERNEL_NODE_PARAMS, gridDimX);
    same_place(CtCuKernelNode, CUDA_KERNEL_NODE_PARAMS, blockDimX);
    same_place(CtCuKernelNode, CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
    same_place(CtCuKernelNode, CUDA_KERNEL_NODE_PARAMS, kernelParams);
    same_place(CtCuKernelNode, CUDA_KERNEL_NODE_PARAMS, extra);
    same_place(CtCuKernelNode, CUDA_KERNEL_NODE_PARAMS, kern);
    same_place(CtCuKernelNode, CUDA_KERNEL_NODE_PARAMS, ctx);
    g_assert_cmpuint(sizeof(CtCuMemsetNode), ==, sizeof(CUDA_MEMSET_NODE_PARAMS));
    same_place(CtCuMemsetNode, CUDA_MEMSET_NODE_PARAMS, dst);
    same_place(CtCuMemsetNode, CUDA_MEMSET_NODE_PARAMS, value);
    same_place(CtCuMemsetNode, CUDA_MEMSET_NODE_PARAMS, elementSize);
    same_place(CtCuMemsetNode, CUDA_MEMSET_NODE_PARAMS, width);
    same_place(CtCuMemsetNode, CUDA_MEMSET_NODE_PARAMS, height);
}

/* From here on, the arguments in the table have NVIDIA's types. */
#define CtCuDevice            CUdevice
#define CtCuContext           CUcontext
#define CtCuStream            CUstream
#define CtCuEvent             CUevent
#define CtCuModule            CUmodule
#define CtCuFunction          CUfunction
#define CtCuAddress           CUdeviceptr
#define CtCuAllocation        CUmemGenericAllocationHandle
#define CtCuMemAllocationProp CUmemAllocationProp
#define CtCuMemAccessDesc     CUmemAccessDesc
#define CtCuMemcpy2D          CUDA_MEMCPY2D
#define CtCuMemcpy3D          CUDA_MEMCPY3D
#define CtCuKernelNode        CUDA_KERNEL_NODE_PARAMS
#define CtCuMemsetNode        CUDA_MEMSET_NODE_PARAMS
#define CtCuGraph             CUgraph
#define CtCuGraphNode         CUgraphNode
#define CtCuGraphExec         CUgraphExec
#define CtCuResult            CUresult
#define CtCuUuid              CUuuid
#define CtNvrtcProgram        nvrtcProgram
#define guint64               unsigned long long

typedef struct {
    const char *symbol;
    gboolean same;
} Prototype;

#define DRIVER_PROTOTYPE(name, symbol, arguments)                                                  \
    {#symbol, __builtin_types_compatible_p(__typeof__(&symbol), CUresult(*) arguments)},
#define NVRTC_PROTOTYPE(name, symbol, arguments)                                                   \
    {#symbol, __builtin_types_compatible_p(__typeof__(&symbol), nvrtcResult(*) arguments)},

static const Prototype prototypes[] = {CT_CUDA_DRIVER_FUNCTIONS(DRIVER_PROTOTYPE)
                                           CT_CUDA_GRAPH_FUNCTIONS(DRIVER_PROTOTYPE)
                                               CT_NVRTC_FUNCTIONS(NVRTC_PROTOTYPE)};

/* These take an enumeration, and an int in the table, which is passed in the same way. */
static const char *const enumerations[] = {"cuDeviceGetAttribute", "cuMemGetAllocationGranularity",
                                           "cuFuncGetAttribute", "cuFuncSetAttribute", NULL};

static void
test_prototypes(void)
{
    for (guint p = 0; p < G_N_ELEMENTS(prototypes); p++)
        if (!prototypes[p].same && !g_strv_contains(enumerations, prototypes[p].symbol))
            g_error("%s has another prototype", prototypes[p].symbol);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cuda-header/constants", test_constants);
    g_test_add_func("/cuda-header/structs", test_structs);
    g_test_add_func("/cuda-header/prototypes", test_prototypes);
    return g_test_run();
}
