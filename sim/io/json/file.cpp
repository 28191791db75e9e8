#include "sim/io/json/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <streambuf>
#include <system_error>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/base/number_text.hpp"
#include "sim/io/json/process.hpp"

namespace pipeloom::io {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

/// An open file descriptor, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd, bool owned = true) : fd_(fd), owned_(owned) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  /// The caller closes it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  /// False if the last writes failed, which some file systems report only here.
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || !owned_ || ::close(fd) == 0;
  }

 private:
  int fd_;
  bool owned_;
};

/// A stream buffer over a descriptor that throws SystemError with the system's reason.
class DescriptorBuffer final : public std::streambuf {
 public:
  DescriptorBuffer(int fd, std::string path) : fd_(fd), path_(std::move(path)), buffer_(kBlock) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  void finish() { drain(); }

 protected:
  int_type overflow(int_type c) override {
    drain();
    if (c != traits_type::eof()) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (size <= epptr() - pptr()) {
      std::memcpy(pptr(), text, static_cast<std::size_t>(size));
      pbump(static_cast<int>(size));
    } else {
      drain();
      write_all(text, static_cast<std::size_t>(size));
    }
    return size;
  }
  int sync() override {
    drain();
    return 0;
  }

 private:
  void drain() {
    const auto size = static_cast<std::size_t>(pptr() - pbase());
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    write_all(buffer_.data(), size);
  }
  void write_all(const char* text, std::size_t size) const {
    while (size > 0) {
      const ssize_t written = ::write(fd_, text, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw SystemError::cannot_write(path_, std::strerror(errno));
      text += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  int fd_;
  std::string path_;
  std::vector<char> buffer_;
};

void write_to(int fd, const std::string& path, const std::function<void(std::ostream&)>& write) {
  DescriptorBuffer buffer(fd, path);
  std::ostream stream(&buffer);
  // An exception of the buffer must reach the caller with its message.
  stream.exceptions(std::ios::badbit);
  write(stream);
  buffer.finish();
}

void write_atomically(const std::string& path, mode_t mode, Overwrite overwrite,
                      const std::function<void(std::ostream&)>& write) {
  Temporary temporary(path);
  Descriptor file(temporary.descriptor());
  const auto require = [&path](bool done) {
    if (!done) throw SystemError::cannot_write(path, std::strerror(errno));
  };
  ::fchmod(file.get(), mode);
  write_to(file.get(), path, write);
  // Before it gets its name, or a machine that goes down could leave the name on an empty file.
  require(::fsync(file.get()) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP);
  require(file.close());
  // link() refuses an existing name, so that two writers cannot both believe that the file is theirs.
  if (overwrite == Overwrite::No && ::link(temporary.name().c_str(), path.c_str()) == 0)
    return sync_folder(path);
  if (overwrite == Overwrite::No && errno == EEXIST) throw InputError::exists(path);
  require(::rename(temporary.name().c_str(), path.c_str()) == 0);
  temporary.keep();
  sync_folder(path);
}

mode_t default_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

void require_at_most(std::size_t limit, std::size_t size, const std::string& path) {
  if (size > limit)
    throw InputError(Where{path}, fmt::format("the file holds more than {}, the most that is read; "
                                              "give a smaller one",
                                              bytes_text(static_cast<Bytes>(limit))));
}

// Time to wait for the other end of a named pipe: open() itself would wait for ever.
constexpr std::chrono::milliseconds kPatience{2000};
constexpr int kPauseMs = 10;
using PatienceClock = std::chrono::steady_clock;

/// Waits until a program has the other end of a named pipe open, or had.
void require_writer(int fd, const std::string& path) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw InputError::cannot_read(path, std::strerror(errno));
  const Descriptor out(ends[0]);
  const Descriptor in(ends[1]);
  for (const auto until = PatienceClock::now() + kPatience; PatienceClock::now() < until;) {
    pollfd ask{fd, POLLIN, 0};
    if (::poll(&ask, 1, kPauseMs) > 0) return;
#ifdef __linux__
    // Takes nothing, and tells a writer that is slow (EAGAIN) from none (0).
    if (::tee(fd, in.get(), 1, SPLICE_F_NONBLOCK) != 0) return;
#endif
  }
  throw InputError::cannot_read(path, "nobody writes to this pipe, so start its writer");
}

}  // namespace

int open_to_read(const std::string& path) {
  // Not waiting here is for named pipes; other files are opened the same way with it.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw InputError::cannot_read(path, std::strerror(errno));
  struct stat info {};
  if (::fstat(file.get(), &info) == 0 && S_ISFIFO(info.st_mode)) require_writer(file.get(), path);
  ::fcntl(file.get(), F_SETFL, 0);
  return file.release();
}

int open_to_write(const std::string& path) {
  for (const auto until = PatienceClock::now() + kPatience; PatienceClock::now() < until;) {
    // Not waiting here is for named pipes: the call then fails if no program reads from them. Other files are opened the same way with it.
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() >= 0) {
      ::fcntl(file.get(), F_SETFL, 0);
      return file.release();
    }
    const int reason = errno;
    struct stat info {};
    const bool lacks_reader = reason == ENXIO && ::stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
    if (!lacks_reader) throw SystemError::cannot_write(path, std::strerror(reason));
    ::poll(nullptr, 0, kPauseMs);
  }
  throw SystemError::cannot_write(path, "nobody reads from this pipe; start its reader, or name a file");
}

std::string read_file(const std::string& path, std::size_t limit) {
  const Descriptor file(path == "-" ? STDIN_FILENO : open_to_read(path), path != "-");
  std::string text;
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw InputError::cannot_read(path, std::strerror(errno));
  if (S_ISREG(info.st_mode)) {
    const auto size = static_cast<std::size_t>(info.st_size);
    require_at_most(limit, size, path);
    // One block more: the read that finds the end needs room as well.
    text.reserve(size + kBlock);
  } else if (S_ISCHR(info.st_mode)) {
    limit = std::min(limit, kMaxFileBytes);  // a device may never end
  }
  for (;;) {
    const std::size_t used = text.size();
    text.resize(used + kBlock);
    const ssize_t got = ::read(file.get(), text.data() + used, kBlock);
    text.resize(used + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw InputError::cannot_read(path, std::strerror(errno));
    if (got == 0) return text;
    require_at_most(limit, text.size(), path);
  }
}

void write_file(const std::string& path, Overwrite overwrite,
                const std::function<void(std::ostream&)>& write) {
  if (path == "-") {
    std::cout.flush();
    write_to(STDOUT_FILENO, "standard output", write);
    return;
  }
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    const Descriptor device(open_to_write(path));
    write_to(device.get(), path, write);
    return;
  }
  if (exists && overwrite == Overwrite::No) throw InputError::exists(path);
  // If `path` is a symbolic link, the file that it leads to is replaced, not the link.
  std::error_code error;
  const std::string target = exists ? std::filesystem::canonical(path, error).string() : path;
  if (error) throw SystemError::cannot_write(path, error.message());
  write_atomically(target, exists ? info.st_mode & 07777 : default_mode(), overwrite, write);
}

void sync_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const Descriptor descriptor(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() >= 0) ::fsync(descriptor.get());
}

std::string relative_to(std::string_view base, std::string_view path) {
  const std::filesystem::path own(path);
  if (own.is_absolute()) return std::string(path);
  return (std::filesystem::path(base).parent_path() / own).string();
}

}  // namespace pipeloom::io
