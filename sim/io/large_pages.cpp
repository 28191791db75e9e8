// The programs' operator new: large arrays are asked for in large pages.
//
// A run of a million ops touches some 30 MB once. In pages of 4 KiB a quarter of the whole time went into handing them out, one fault for each;
// in pages of 2 MiB it is one fault for 512 of those. Where the system has no such pages, nothing is different. Linked into programs
// only: a library must not choose its user's allocator, and the sanitizers bring their own.

#include <sys/mman.h>

#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;
/// Arrays below are not worth the part of a large page that they leave empty.
constexpr std::size_t kLargeArray = 2 * kLargePage;

void* allocate(std::size_t bytes) {
  if (bytes < kLargeArray || bytes > std::numeric_limits<std::size_t>::max() - kLargePage)
    return std::malloc(bytes == 0 ? 1 : bytes);
  const std::size_t rounded = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  void* const memory = std::aligned_alloc(kLargePage, rounded);
  if (memory != nullptr) ::madvise(memory, rounded, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  for (;;) {
    if (void* const memory = allocate(bytes)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
