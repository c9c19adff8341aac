#include "twin/socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::twin {
namespace {

constexpr std::size_t kMaxLine = std::size_t{256} << 20;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof a.sun_path)
    return fail(ErrorKind::kInvalid, fmt::format("socket path must have 1 to {} bytes", sizeof a.sun_path - 1), path);
  std::memcpy(a.sun_path, path.c_str(), path.size() + 1);
  return a;
}
std::unexpected<Error> failed(const char* what, const std::string& path) {
  return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", what, std::strerror(errno)), path);
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_), std::swap(buffer_, other.buffer_);
  return *this;
}
Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Socket> Socket::listen(const std::string& path) {
  WEFT_ASSIGN(sockaddr_un a, address_of(path));
  if (connect(path)) return fail(ErrorKind::kConflict, "somebody already serves there; choose another path or end it", path);
  ::unlink(path.c_str());
  Socket s(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (s.fd_ < 0 || ::bind(s.fd_, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0 || ::listen(s.fd_, 8) != 0)
    return failed("cannot listen", path);
  return s;
}
Result<Socket> Socket::connect(const std::string& path) {
  WEFT_ASSIGN(sockaddr_un a, address_of(path));
  Socket s(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (s.fd_ < 0 || ::connect(s.fd_, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) return failed("cannot reach the twin", path);
  return s;
}
Result<Socket> Socket::accept() {
  int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return failed("cannot accept", "");
  return Socket(fd);
}

bool Socket::fill() {
  char chunk[65536];
  ssize_t n;
  do n = ::recv(fd_, chunk, sizeof chunk, 0);
  while (n < 0 && errno == EINTR);
  if (n <= 0 || buffer_.size() > kMaxLine) return false;
  buffer_.append(chunk, static_cast<std::size_t>(n));
  return true;
}
bool Socket::take_line(std::string& line) {
  std::size_t end = buffer_.find('\n');
  if (end == std::string::npos) return false;
  line.assign(buffer_, 0, end);
  buffer_.erase(0, end + 1);
  return true;
}
Result<std::string> Socket::read_line() {
  std::string line;
  while (!take_line(line))
    if (!fill()) return fail(ErrorKind::kUnavailable, "the twin closed the connection");
  return line;
}
Status Socket::write_line(const std::string& line) {
  std::string out = line + "\n";
  std::size_t done = 0;
  while (done < out.size()) {
    ssize_t n = ::send(fd_, out.data() + done, out.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed("connection lost", "");
    done += static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace weft::twin
