/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of devices and pinned memory. Each allocation is between guards and filled with a
 * pattern. */
#include "emulator.h"

#include <stdlib.h>
#include <string.h>

#ifdef EMULATOR_ASAN
enum { GUARD = 0 }; /* the sanitizer's guards are better */
#else
enum { GUARD = 256 };
#endif

enum { POISON = 0xff, GUARD_BYTE = 0x5a, ALIGNMENT = 256 };

typedef struct {
    CtCuAddress address;
    size_t bytes, charged;
    Place place;
    Context *context;
    guint8 *memory; /* to be freed; NULL: registered memory, which is the program's */
} Region;

static struct {
    pthread_mutex_t lock;
    GTree *regions; /* by address; guarded by lock */
} table = {PTHREAD_MUTEX_INITIALIZER, NULL};

static gint
compare(gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer data)
{
    const CtCuAddress x = *(const CtCuAddress *)a, y = *(const CtCuAddress *)b;
    return (x > y) - (x < y);
}

/* The first region that ends behind an address. Called with the lock held. */
static Region *
region_from(CtCuAddress address)
{
    if (!table.regions)
        table.regions = g_tree_new_full(compare, NULL, NULL, g_free);
    GTreeNode *above = g_tree_upper_bound(table.regions, &address);
    GTreeNode *below = above ? g_tree_node_previous(above) : g_tree_node_last(table.regions);
    Region *region = below ? g_tree_node_value(below) : NULL;
    if (region && address < region->address + MAX(region->bytes, 1))
        return region;
    return above ? g_tree_node_value(above) : NULL;
}

/* The region that begins exactly at an address, or NULL. Called with the lock held. */
static Region *
region_at(CtCuAddress address)
{
    Region *region = region_from(address);
    return region && region->address == address ? region : NULL;
}

Place
emulator_place(CtCuAddress address, size_t bytes)
{
    Place place;
    if (emulator_virtual_place(address, bytes, &place))
        return place;
    pthread_mutex_lock(&table.lock);
    const Region *region = region_from(address);
    if (!region || region->address >= address + MAX(bytes, 1))
        place = address ? PLACE_PAGEABLE : PLACE_INVALID;
    else if (address < region->address || address + bytes > region->address + region->bytes)
        place = PLACE_INVALID;
    else
        place = region->place;
    pthread_mutex_unlock(&table.lock);
    return place;
}

gboolean
emulator_charge(Context *context, size_t bytes)
{
    const size_t limit = emulator_settings()->memory_bytes;
    size_t used = context->used;
    do {
        if (bytes > limit - used)
            return FALSE;
    } while (!atomic_compare_exchange_weak(&context->used, &used, used + bytes));
    return TRUE;
}

static EmulatorResource
kind_of(const Region *region)
{
    return region->place == PLACE_DEVICE ? EMULATOR_ALLOCATION
           : region->memory              ? EMULATOR_PINNED
                                         : EMULATOR_REGISTRATION;
}

static void
keep_region(Region *region)
{
    pthread_mutex_lock(&table.lock);
    region_from(0);
    g_tree_insert(table.regions, &region->address, region);
    pthread_mutex_unlock(&table.lock);
    emulator_count(kind_of(region), 1);
}

static int
allocate(Context *context, size_t bytes, Place place, CtCuAddress *address)
{
    if (bytes == 0)
        return INVALID_VALUE;
    const size_t charged = place == PLACE_DEVICE ? (bytes + 511) & ~(size_t)511 : 0;
    if (bytes > G_MAXSIZE / 2 || !emulator_charge(context, charged))
        return OUT_OF_MEMORY;
    void *memory = NULL;
    if (posix_memalign(&memory, ALIGNMENT, GUARD + bytes + GUARD) != 0) {
        context->used -= charged;
        return OUT_OF_MEMORY;
    }
    memset(memory, GUARD_BYTE, GUARD);
    memset((guint8 *)memory + GUARD, POISON, bytes);
    memset((guint8 *)memory + GUARD + bytes, GUARD_BYTE, GUARD);
    Region *region = g_new(Region, 1);
    *region = (Region){
        .address = (CtCuAddress)memory + GUARD,
        .bytes = bytes,
        .charged = charged,
        .place = place,
        .context = context,
        .memory = memory,
    };
    *address = region->address;
    keep_region(region);
    return 0;
}

static void
check_guards(const Region *region)
{
    const guint8 *after = region->memory + GUARD + region->bytes;
    for (int i = 0; i < GUARD; i++)
        if (region->memory[i] != GUARD_BYTE || after[i] != GUARD_BYTE)
            emulator_fatal("something wrote beside an allocation of %zu bytes", region->bytes);
}

/* Removes a region from the table. Called with the lock held. */
static void
remove_region(Region *region)
{
    void *memory = region->memory;
    if (memory)
        check_guards(region);
    region->context->used -= region->charged;
    g_tree_remove(table.regions, &region->address);
    free(memory);
}

/* Frees the region that begins there if it is of that kind and, if `ours`, the emulator's own. */
static int
release(CtCuAddress address, Place place, gboolean ours, int otherwise)
{
    pthread_mutex_lock(&table.lock);
    Region *region = region_at(address);
    const gboolean found = region && region->place == place && (region->memory != NULL) == ours;
    if (found) {
        emulator_count(kind_of(region), -1);
        remove_region(region);
    }
    pthread_mutex_unlock(&table.lock);
    return found ? 0 : otherwise;
}

typedef struct {
    Context *context;
    Region *found;
} Search;

static gboolean
find_of_context(G_GNUC_UNUSED gpointer key, gpointer value, gpointer data)
{
    Search *search = data;
    Region *region = value;
    if (region->context == search->context)
        search->found = region;
    return search->found != NULL;
}

void
emulator_memory_reset(Context *context)
{
    pthread_mutex_lock(&table.lock);
    for (;;) {
        Search search = {context, NULL};
        if (table.regions)
            g_tree_foreach(table.regions, find_of_context, &search);
        if (!search.found)
            break;
        remove_region(search.found);
    }
    pthread_mutex_unlock(&table.lock);
}

int
cuMemGetInfo_v2(size_t *free, size_t *total)
{
    ENTER(context);
    *total = emulator_settings()->memory_bytes;
    *free = *total - context->used;
    return 0;
}

int
cuMemAlloc_v2(CtCuAddress *address, size_t bytes)
{
    ENTER(context);
    return allocate(context, bytes, PLACE_DEVICE, address);
}

int
cuMemFree_v2(CtCuAddress address)
{
    ENTER_ANYWAY(context);
    if (!address)
        return 0;
    emulator_context_wait(context);
    return release(address, PLACE_DEVICE, TRUE, INVALID_VALUE) ?: context->fault;
}

int
cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    ENTER(context);
    (void)flags;
    CtCuAddress address;
    const int failure = allocate(context, bytes, PLACE_PINNED, &address);
    if (!failure)
        *memory = (void *)address;
    return failure;
}

int
cuMemFreeHost(void *memory)
{
    ENTER_ANYWAY(context);
    emulator_context_wait(context);
    return release((CtCuAddress)memory, PLACE_PINNED, TRUE, INVALID_VALUE) ?: context->fault;
}

int
cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    ENTER(context);
    (void)flags;
    if (!memory || bytes == 0)
        return INVALID_VALUE;
    const CtCuAddress address = (CtCuAddress)memory;
    if (emulator_place(address, bytes) != PLACE_PAGEABLE)
        return HOST_MEMORY_ALREADY_REGISTERED;
    Region *region = g_new(Region, 1);
    *region =
        (Region){.address = address, .bytes = bytes, .place = PLACE_PINNED, .context = context};
    keep_region(region);
    return 0;
}

int
cuMemHostUnregister(void *memory)
{
    ENTER_ANYWAY(context);
    emulator_context_wait(context);
    const int failure =
        release((CtCuAddress)memory, PLACE_PINNED, FALSE, HOST_MEMORY_NOT_REGISTERED);
    return failure ?: context->fault;
}
