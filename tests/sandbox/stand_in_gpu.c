/* A made-up NVIDIA card, for tests on machines that have none: what of libnvidia-ml.so.1 and libcuda.so.1 is asked of it.
 *
 * The card lies in the file that STAND_IN_CARD names, which a test writes and reads: see `Made` in on_a_card.py.
 * As on a real one memory is free again when its process ends, and a context costs some. What it does not show is how a
 * real driver behaves beyond that.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HOLDINGS = 64, NOT_SUPPORTED = 3, TOO_SMALL = 7, OUT_OF_MEMORY = 2, NO_DEVICE = 100 };

struct holding { uint64_t pid, bytes; };
struct card {
    uint64_t total, others, context; /* bytes: of the card, of somebody else's, of one context */
    uint64_t nvml_says, cuda_says;   /* what nvmlInit and cuInit answer */
    uint64_t hides;                  /* 1: NVML names no process; 2: it knows no figure of any */
    uint64_t divided;                /* MIG: 0 the card cannot, 1 off, 2 on */
    uint64_t largest;                /* bytes that CUDA hands out in one piece; 0: any */
    uint64_t looks;                  /* how often NVML was asked for processes */
    struct holding held[HOLDINGS];
};
struct memory { uint64_t total, free, used; };
struct process { uint32_t pid; uint64_t bytes; uint32_t gpu_instance, compute_instance; };

static int lock = -1;

static struct card *opened(void) {
    static struct card *card;
    if (!card) {
        lock = open(getenv("STAND_IN_CARD"), O_RDWR);
        card = mmap(0, sizeof *card, PROT_READ | PROT_WRITE, MAP_SHARED, lock, 0);
        close(lock);
    }
    lock = open(getenv("STAND_IN_CARD"), O_RDWR); /* of its own, so that threads wait for each other as well */
    flock(lock, LOCK_EX);
    return card;
}

static int left(int answer) {
    close(lock);
    return answer;
}

static int alive(uint64_t pid) {
    char path[64], line[512] = "", *state;
    snprintf(path, sizeof path, "/proc/%lu/stat", (unsigned long)pid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    state = fgets(line, sizeof line, file) ? strrchr(line, ')') : 0;
    fclose(file);
    return state && state[2] != 'Z' && state[2] != 'X';
}

static uint64_t used(struct card *card) {
    uint64_t sum = card->others;
    for (int i = 0; i < HOLDINGS; i++) {
        if (card->held[i].pid && !alive(card->held[i].pid)) card->held[i] = (struct holding){0};
        sum += card->held[i].bytes;
    }
    return sum;
}

static int take(struct card *card, uint64_t bytes) {
    struct holding *mine = 0;
    if (used(card) + bytes > card->total) return OUT_OF_MEMORY;
    for (int i = 0; i < HOLDINGS; i++)
        if (card->held[i].pid == (uint64_t)getpid() || (!card->held[i].pid && !mine)) mine = &card->held[i];
    mine->pid = getpid();
    mine->bytes += bytes;
    return 0;
}

/* --- NVML ---------------------------------------------------------------------------------------------------------- */

int nvmlInitWithFlags(unsigned flags) { (void)flags; return left(opened()->nvml_says); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "another error"; }

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    *device = (void *)1;
    return strncmp(uuid, "GPU-", 4) ? 2 : 0;
}

int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *later) {
    (void)device;
    uint64_t divided = opened()->divided;
    *now = *later = divided == 2;
    return left(divided ? 0 : NOT_SUPPORTED);
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory) {
    (void)device;
    struct card *card = opened();
    *memory = (struct memory){card->total, card->total - used(card), used(card)};
    return left(0);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *found) {
    (void)device;
    struct card *card = opened();
    unsigned room = *count, n = 0;
    used(card);
    if (found) card->looks++; /* asked first for how many there are */
    else if (card->hides == 1) card->looks++;
    for (int i = 0; i < HOLDINGS && card->hides != 1; i++)
        if (card->held[i].pid) {
            uint64_t bytes = card->hides == 2 ? UINT64_MAX : card->held[i].bytes;
            if (n < room && found) found[n] = (struct process){card->held[i].pid, bytes, UINT32_MAX, UINT32_MAX};
            n++;
        }
    *count = n;
    return left(n > room ? TOO_SMALL : 0);
}

/* --- CUDA's driver ------------------------------------------------------------------------------------------------- */

int cuInit(unsigned flags) { (void)flags; return left(opened()->cuda_says); }
int cuCtxSetCurrent(void *context) { return context ? 0 : 201; }

int cuDeviceGet(int *device, int ordinal) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    *device = 0;
    return ordinal || (visible && strncmp(visible, "GPU-", 4)) ? NO_DEVICE : 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    (void)device;
    struct card *card = opened();
    *context = (void *)1;
    return left(take(card, card->context));
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    struct card *card = opened();
    *total = card->total;
    *free_bytes = card->total - used(card);
    return left(0);
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    struct card *card = opened();
    *address = bytes;
    return left(card->largest && bytes > card->largest ? OUT_OF_MEMORY : take(card, bytes));
}

int cuMemFree_v2(uint64_t address) { return left(take(opened(), -address)); }
