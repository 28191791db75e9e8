#pragma once

// Ranks of one test process that are connected as if they were processes of their own.

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "executor/net/socket.hpp"

namespace pipeloom::executor {

/// [rank][peer]; a rank's connection to itself is not open.
inline std::vector<std::vector<net::Socket>> socket_mesh(int ranks) {
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<std::vector<net::Socket>> mesh(size);
  for (auto& row : mesh) row.resize(size);
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = a + 1; b < size; ++b) {
      std::array<int, 2> fds{};
      if (::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()) != 0)
        throw std::runtime_error("no pair of sockets");
      mesh[a][b] = net::Socket(fds[0]);
      mesh[b][a] = net::Socket(fds[1]);
    }
  return mesh;
}

}  // namespace pipeloom::executor
