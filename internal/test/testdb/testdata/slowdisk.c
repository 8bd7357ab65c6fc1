/* LD_PRELOAD loads this library into a server of a test. It delays each call to the disk by the
   number of microseconds in the first four bytes of the file named by SLOW_DISK. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static volatile unsigned *delay;

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("SLOW_DISK");
  int file = name ? open(name, O_RDONLY) : -1;
  if (file < 0) return;
  void *at = mmap(NULL, sizeof *delay, PROT_READ, MAP_SHARED, file, 0);
  if (at != MAP_FAILED) delay = at;
  close(file);
}

static void wait_for_disk(void) {
  if (delay && *delay) usleep(*delay);
}

#define SLOW(type, name, params, args)                          \
  type name params {                                            \
    static type(*real) params;                                  \
    if (!real) real = (type(*) params)dlsym(RTLD_NEXT, #name);  \
    wait_for_disk();                                            \
    return real args;                                           \
  }

SLOW(ssize_t, pread, (int f, void *b, size_t n, off_t at), (f, b, n, at))
SLOW(ssize_t, pread64, (int f, void *b, size_t n, off64_t at), (f, b, n, at))
SLOW(ssize_t, pwrite, (int f, const void *b, size_t n, off_t at), (f, b, n, at))
SLOW(ssize_t, pwrite64, (int f, const void *b, size_t n, off64_t at), (f, b, n, at))
SLOW(int, fsync, (int f), (f))
SLOW(int, fdatasync, (int f), (f))
