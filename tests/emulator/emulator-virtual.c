/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual memory: reserved addresses, and memory that can be mapped at several of them. */
#include "emulator.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GRANULARITY = 2 << 20, POISON = 0xff };

/* Memory made by cuMemCreate; it exists until it is released and no longer mapped. */
typedef struct {
    Context *context;
    int file;
    size_t bytes;
    unsigned uses;
    gboolean released;
} Physical;

/* A mapped range of a reservation. */
typedef struct {
    CtCuAddress address;
    size_t bytes;
    Physical *physical;
    gboolean accessible;
} Mapping;

typedef struct {
    CtCuAddress address;
    size_t bytes;
    GArray *mappings; /* of Mapping, by address */
} Reservation;

static struct {
    pthread_mutex_t lock;
    GPtrArray *reservations, *physical;
} table = {PTHREAD_MUTEX_INITIALIZER, NULL, NULL};

static void
lock_table(void)
{
    pthread_mutex_lock(&table.lock);
    if (!table.reservations) {
        table.reservations = g_ptr_array_new();
        table.physical = g_ptr_array_new();
    }
}

static void
unlock_table(void)
{
    pthread_mutex_unlock(&table.lock);
}

/* ---- with the lock held ---- */

/* The reservation in which an address lies, or NULL. */
static Reservation *
reservation_of(CtCuAddress address)
{
    for (guint r = 0; r < table.reservations->len; r++) {
        Reservation *reservation = table.reservations->pdata[r];
        if (address >= reservation->address && address - reservation->address < reservation->bytes)
            return reservation;
    }
    return NULL;
}

static gboolean
is_within(const Reservation *reservation, CtCuAddress address, size_t bytes)
{
    return reservation && bytes <= reservation->bytes - (address - reservation->address);
}

/* The index of the first mapping that ends behind an address; the number of mappings if there is
 * none. */
static guint
mapping_from(const Reservation *reservation, CtCuAddress address)
{
    guint m = 0;
    while (m < reservation->mappings->len) {
        const Mapping *mapping = &g_array_index(reservation->mappings, Mapping, m);
        if (mapping->address + mapping->bytes > address)
            break;
        m++;
    }
    return m;
}

/* Whether the range consists of whole, adjacent mappings: those from m up to *end. */
static gboolean
is_covered(const Reservation *reservation, CtCuAddress address, size_t bytes, guint m, guint *end)
{
    CtCuAddress at = address;
    for (; at < address + bytes && m < reservation->mappings->len; m++) {
        const Mapping *mapping = &g_array_index(reservation->mappings, Mapping, m);
        if (mapping->address != at)
            return FALSE;
        at += mapping->bytes;
    }
    *end = m;
    return at == address + bytes;
}

static void
physical_drop(Physical *physical)
{
    if (physical->uses || !physical->released)
        return;
    close(physical->file);
    physical->context->used -= physical->bytes;
    g_ptr_array_remove(table.physical, physical);
    g_free(physical);
}

/* ---- calls ---- */

gboolean
emulator_virtual_place(CtCuAddress address, size_t bytes, Place *place)
{
    lock_table();
    const Reservation *reservation = reservation_of(address);
    if (reservation) {
        CtCuAddress at = address;
        for (guint m = mapping_from(reservation, address); m < reservation->mappings->len; m++) {
            const Mapping *mapping = &g_array_index(reservation->mappings, Mapping, m);
            if (mapping->address > at || !mapping->accessible)
                break;
            at = mapping->address + mapping->bytes;
            if (at - address >= bytes)
                break;
        }
        *place = at - address >= MAX(bytes, 1) ? PLACE_DEVICE : PLACE_INVALID;
    }
    unlock_table();
    return reservation != NULL;
}

int
cuMemGetAllocationGranularity(size_t *bytes, const CtCuMemAllocationProp *property, int option)
{
    ENTER(context);
    (void)context;
    if (!property || property->type != CT_CU_MEM_ALLOCATION_TYPE_PINNED || option < 0 || option > 1)
        return INVALID_VALUE;
    *bytes = GRANULARITY;
    return 0;
}

int
cuMemAddressReserve(CtCuAddress *address, size_t bytes, size_t alignment, CtCuAddress hint,
                    guint64 flags)
{
    ENTER(context);
    (void)context, (void)hint;
    if (bytes == 0 || bytes % GRANULARITY || (alignment & (alignment - 1)) || flags)
        return INVALID_VALUE;
    const size_t aligned = MAX(alignment, GRANULARITY);
    guint8 *room =
        mmap(NULL, bytes + aligned, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return OUT_OF_MEMORY;
    const size_t before = -(guintptr)room % aligned;
    if (before)
        munmap(room, before);
    munmap(room + before + bytes, aligned - before);
    Reservation *reservation = g_new(Reservation, 1);
    *reservation = (Reservation){(CtCuAddress)(room + before), bytes,
                                 g_array_new(FALSE, FALSE, sizeof(Mapping))};
    lock_table();
    g_ptr_array_add(table.reservations, reservation);
    unlock_table();
    emulator_count(EMULATOR_RESERVATION, 1);
    *address = reservation->address;
    return 0;
}

int
cuMemAddressFree(CtCuAddress address, size_t bytes)
{
    ENTER_ANYWAY(context);
    lock_table();
    Reservation *reservation = reservation_of(address);
    const gboolean fits = reservation && reservation->address == address &&
                          reservation->bytes == bytes && reservation->mappings->len == 0;
    if (fits) {
        g_ptr_array_remove(table.reservations, reservation);
        munmap((void *)address, bytes);
        g_array_unref(reservation->mappings);
        emulator_count(EMULATOR_RESERVATION, -1);
        g_free(reservation);
    }
    unlock_table();
    return fits ? context->fault : INVALID_VALUE;
}

int
cuMemCreate(CtCuAllocation *allocation, size_t bytes, const CtCuMemAllocationProp *property,
            guint64 flags)
{
    ENTER(context);
    if (!property || property->type != CT_CU_MEM_ALLOCATION_TYPE_PINNED ||
        property->location.type != CT_CU_MEM_LOCATION_TYPE_DEVICE || flags || bytes == 0 ||
        bytes % GRANULARITY)
        return INVALID_VALUE;
    if (property->location.id < 0 ||
        (unsigned)property->location.id >= emulator_settings()->n_devices)
        return INVALID_DEVICE;
    context = emulator_context(property->location.id);
    if (!emulator_charge(context, bytes))
        return OUT_OF_MEMORY;
    const int file = memfd_create("cornerturn-emulator", MFD_CLOEXEC);
    void *memory = file >= 0 && ftruncate(file, (off_t)bytes) == 0
                       ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                       : MAP_FAILED;
    if (memory == MAP_FAILED) {
        if (file >= 0)
            close(file);
        context->used -= bytes;
        return OUT_OF_MEMORY;
    }
    memset(memory, POISON, bytes);
    munmap(memory, bytes);
    Physical *physical = g_new(Physical, 1);
    *physical = (Physical){.context = context, .file = file, .bytes = bytes};
    lock_table();
    g_ptr_array_add(table.physical, physical);
    unlock_table();
    emulator_count(EMULATOR_PHYSICAL, 1);
    *allocation = (CtCuAllocation)(guintptr)physical;
    return 0;
}

int
cuMemRelease(CtCuAllocation allocation)
{
    ENTER_ANYWAY(context);
    Physical *physical = (Physical *)(guintptr)allocation;
    lock_table();
    const gboolean found = g_ptr_array_find(table.physical, physical, NULL) && !physical->released;
    if (found) {
        physical->released = TRUE;
        emulator_count(EMULATOR_PHYSICAL, -1);
        physical_drop(physical);
    }
    unlock_table();
    return found ? context->fault : INVALID_VALUE;
}

int
cuMemMap(CtCuAddress address, size_t bytes, size_t offset, CtCuAllocation allocation, guint64 flags)
{
    ENTER(context);
    (void)context;
    Physical *physical = (Physical *)(guintptr)allocation;
    if (bytes == 0 || bytes % GRANULARITY || address % GRANULARITY || offset || flags)
        return INVALID_VALUE;
    lock_table();
    Reservation *reservation = reservation_of(address);
    gboolean fits = is_within(reservation, address, bytes) &&
                    g_ptr_array_find(table.physical, physical, NULL) && !physical->released &&
                    bytes <= physical->bytes;
    const guint m = fits ? mapping_from(reservation, address) : 0;
    if (fits && m < reservation->mappings->len)
        fits = g_array_index(reservation->mappings, Mapping, m).address >= address + bytes;
    if (fits && mmap((void *)address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file,
                     0) != MAP_FAILED) {
        const Mapping mapping = {address, bytes, physical, FALSE};
        g_array_insert_val(reservation->mappings, m, mapping);
        physical->uses++;
        emulator_count(EMULATOR_MAPPING, 1);
    }
    unlock_table();
    return fits ? 0 : INVALID_VALUE;
}

int
cuMemUnmap(CtCuAddress address, size_t bytes)
{
    ENTER_ANYWAY(context);
    lock_table();
    Reservation *reservation = reservation_of(address);
    guint end = 0;
    const guint m = reservation ? mapping_from(reservation, address) : 0;
    const gboolean fits = is_within(reservation, address, bytes) && bytes > 0 &&
                          is_covered(reservation, address, bytes, m, &end);
    if (fits) {
        for (guint i = m; i < end; i++) {
            Physical *physical = g_array_index(reservation->mappings, Mapping, i).physical;
            physical->uses--;
            emulator_count(EMULATOR_MAPPING, -1);
            physical_drop(physical);
        }
        g_array_remove_range(reservation->mappings, m, end - m);
        mmap((void *)address, bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
    unlock_table();
    return fits ? context->fault : INVALID_VALUE;
}

int
cuMemSetAccess(CtCuAddress address, size_t bytes, const CtCuMemAccessDesc *access, size_t count)
{
    ENTER(context);
    (void)context;
    for (size_t i = 0; i < count; i++)
        if (access[i].location.type != CT_CU_MEM_LOCATION_TYPE_DEVICE ||
            access[i].location.id < 0 ||
            (unsigned)access[i].location.id >= emulator_settings()->n_devices ||
            access[i].flags != CT_CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return INVALID_VALUE;
    lock_table();
    Reservation *reservation = reservation_of(address);
    guint end = 0;
    const guint m = reservation ? mapping_from(reservation, address) : 0;
    const gboolean fits = is_within(reservation, address, bytes) && bytes > 0 && count > 0 &&
                          is_covered(reservation, address, bytes, m, &end) &&
                          mprotect((void *)address, bytes, PROT_READ | PROT_WRITE) == 0;
    for (guint i = m; fits && i < end; i++)
        g_array_index(reservation->mappings, Mapping, i).accessible = TRUE;
    unlock_table();
    return fits ? 0 : INVALID_VALUE;
}
