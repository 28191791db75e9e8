#include "cli/serve/static_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/text_tools.hpp"

namespace pipeloom::cli::serve {
namespace {

namespace fs = std::filesystem;

using Row = std::pair<std::string_view, std::string_view>;
constexpr std::array kMediaTypes = {Row{".html", "text/html; charset=utf-8"},
                                    Row{".js", "text/javascript; charset=utf-8"},
                                    Row{".mjs", "text/javascript; charset=utf-8"},
                                    Row{".css", "text/css; charset=utf-8"},
                                    Row{".wasm", "application/wasm"},
                                    Row{".json", "application/json"},
                                    Row{".svg", "image/svg+xml"},
                                    Row{".png", "image/png"},
                                    Row{".ico", "image/x-icon"},
                                    Row{".webmanifest", "application/manifest+json"},
                                    Row{".woff2", "font/woff2"},
                                    Row{".ttf", "font/ttf"},
                                    Row{".txt", "text/plain; charset=utf-8"},
                                    Row{".md", "text/plain; charset=utf-8"},
                                    Row{".csv", "text/csv; charset=utf-8"},
                                    Row{".jsonl", "application/jsonl"}};

/// True if each part of the path is the name of something in the folder before it.
bool is_plain(std::string_view path) {
  if (path.find_first_of(std::string_view("\0\\", 2)) != std::string_view::npos) return false;
  const std::vector<std::string> parts = split(path, '/');
  return std::none_of(parts.begin(), parts.end(),
                      [](const std::string& part) { return part.empty() || part == "." || part == ".."; });
}

/// Where an open file is; "" if the system does not tell.
std::string place_of(int descriptor) {
  std::error_code error;
  return fs::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), error).string();
}

}  // namespace

OpenFile::~OpenFile() {
  ::close(descriptor_);
}

std::size_t OpenFile::read(std::size_t offset, std::span<char> room) const {
  const ssize_t got = ::pread(descriptor_, room.data(), room.size(), static_cast<off_t>(offset));
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

Folder::Folder(const fs::path& path) : root_(fs::canonical(path).string()) {
  if (!root_.ends_with('/')) root_ += '/';
}

std::shared_ptr<const OpenFile> Folder::open(std::string_view path) const {
  if (!is_plain(path)) return nullptr;
  // O_NONBLOCK is for named pipes, which are refused below; without it opening one would wait.
  const int descriptor = ::open((root_ + std::string(path)).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  struct stat info {};
  const bool is_file = ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  auto file =
      std::make_shared<const OpenFile>(descriptor, is_file ? static_cast<std::size_t>(info.st_size) : 0);
  return is_file && place_of(descriptor).starts_with(root_) ? file : nullptr;
}

std::string_view media_type(std::string_view path) {
  const auto* const row = std::find_if(kMediaTypes.begin(), kMediaTypes.end(),
                                       [path](const Row& one) { return path.ends_with(one.first); });
  return row == kMediaTypes.end() ? "application/octet-stream" : row->second;
}

bool is_loopback_host(std::string_view host) {
  const std::size_t end = host.starts_with('[') ? host.find(']') + 1 : std::min(host.find(':'), host.size());
  const std::string name = lower(host.substr(0, end));
  const std::string_view port = host.substr(end);
  const bool is_port = port.empty() || (port.size() > 1 && port.front() == ':' &&
                                        port.find_first_not_of("0123456789", 1) == std::string_view::npos);
  return is_port && (name == "127.0.0.1" || name == "localhost" || name == "[::1]");
}

}  // namespace pipeloom::cli::serve
