#include "sim/io/traces/byte_source.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::io {
namespace {

/// What zlib reads at once.
constexpr unsigned kPackedBlock = 1U << 18;

}  // namespace

struct ByteSource::File {
  explicit File(gzFile file) : handle(file) {}
  ~File() { ::gzclose_r(handle); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  gzFile handle;
};

ByteSource::ByteSource(const std::string& path) : path_(path) {
  const int descriptor = open_to_read(path);
  gzFile handle = ::gzdopen(descriptor, "rb");
  if (handle == nullptr) {
    ::close(descriptor);
    throw InputError::cannot_read(path, "out of memory");
  }
  ::gzbuffer(handle, kPackedBlock);
  file_ = std::make_unique<File>(handle);
}

ByteSource::~ByteSource() = default;

bool ByteSource::is_packed() const {
  return ::gzdirect(file_->handle) == 0;
}

std::size_t ByteSource::read(std::span<char> room) {
  if (is_cut_) return 0;
  const auto most = static_cast<unsigned>(std::min<std::size_t>(room.size(), 1U << 30));
  const int count = ::gzread(file_->handle, room.data(), most);
  if (count > 0) return static_cast<std::size_t>(count);
  int code = Z_OK;
  const char* reason = ::gzerror(file_->handle, &code);
  if (code == Z_ERRNO) throw InputError::cannot_read(path_, std::strerror(errno));
  is_cut_ = code == Z_BUF_ERROR;
  if (count < 0 && !is_cut_)
    throw InputError(
        Where{path_},
        fmt::format("what gzip has packed here is damaged ({}); copy the file again", shortened(reason, 80)));
  return 0;
}

}  // namespace pipeloom::io
