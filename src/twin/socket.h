// Lines over a unix socket: the little that process mode needs of POSIX.
#pragma once

#include <string>

#include "base/result.h"

namespace weft::twin {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_), buffer_(std::move(other.buffer_)) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  static Result<Socket> listen(const std::string& path);  // replaces a stale socket file, refuses a living one
  static Result<Socket> connect(const std::string& path);
  Result<Socket> accept();
  int fd() const { return fd_; }
  // Reads what is there; false when the peer is gone.
  bool fill();
  // Takes one whole line out of the buffer, without its end.
  bool take_line(std::string& line);
  Result<std::string> read_line();  // waits
  Status write_line(const std::string& line);

 private:
  int fd_ = -1;
  std::string buffer_;
};

}  // namespace weft::twin
