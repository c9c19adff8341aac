#include "base/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft {

std::string_view trim(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  std::size_t from = s.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return s.substr(from, s.find_last_not_of(kBlank) - from + 1);
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0;;) {
    std::size_t next = s.find(separator, at);
    if (next == std::string_view::npos) return out.push_back(s.substr(at)), out;
    out.push_back(s.substr(at, next - at));
    at = next + 1;
  }
}

std::vector<std::string_view> split_space(std::string_view s) {
  std::vector<std::string_view> out;
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  for (std::size_t at = s.find_first_not_of(kBlank); at != std::string_view::npos;) {
    std::size_t end = s.find_first_of(kBlank, at);
    out.push_back(s.substr(at, end == std::string_view::npos ? end : end - at));
    at = end == std::string_view::npos ? end : s.find_first_not_of(kBlank, end);
  }
  return out;
}

bool starts_with_word(std::string_view s, std::string_view word) {
  return s.starts_with(word) && (s.size() == word.size() || std::isspace(static_cast<unsigned char>(s[word.size()])));
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) out += (i ? std::string(separator) : "") + parts[i];
  return out;
}

std::string strip_ansi(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\x1b' && i + 1 < s.size() && s[i + 1] == '[') {
      i += 2;
      while (i < s.size() && !(s[i] >= '@' && s[i] <= '~')) ++i;
      continue;
    }
    out += s[i];
  }
  return out;
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::string best, from = lower(word);
  if (from.size() > 100) return best;
  std::size_t best_distance = std::max<std::size_t>(1, (from.size() + 1) / 3) + 1;
  for (const std::string& candidate : known) {
    std::string to = lower(candidate);
    if (to.size() >= from.size() + best_distance || from.size() >= to.size() + best_distance) continue;
    // Optimal string alignment distance, three rows.
    std::vector<std::size_t> older(to.size() + 1), old(to.size() + 1), row(to.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < from.size(); ++i) {
      older.swap(old), old.swap(row);
      row[0] = i + 1;
      for (std::size_t j = 0; j < to.size(); ++j) {
        row[j + 1] = std::min({old[j + 1] + 1, row[j] + 1, old[j] + (from[i] != to[j])});
        if (i && j && from[i] == to[j - 1] && from[i - 1] == to[j]) row[j + 1] = std::min(row[j + 1], older[j - 1] + 1);
      }
    }
    if (row.back() < best_distance) best_distance = row.back(), best = candidate;
  }
  return best;
}

std::size_t invalid_text_at(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    auto c = static_cast<unsigned char>(s[i]);
    if (c == 0) return i;
    if (c < 0x80) {
      ++i;
      continue;
    }
    std::size_t more = c >= 0xC2 && c <= 0xDF ? 1 : c >= 0xE0 && c <= 0xEF ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 0;
    if (!more || i + more >= s.size()) return i;
    auto second = static_cast<unsigned char>(s[i + 1]);
    if ((c == 0xE0 && second < 0xA0) || (c == 0xED && second > 0x9F) || (c == 0xF0 && second < 0x90) || (c == 0xF4 && second > 0x8F))
      return i;
    for (std::size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(s[i + k]) & 0xC0) != 0x80) return i;
    i += more + 1;
  }
  return std::string_view::npos;
}

Result<std::int64_t> parse_int(std::string_view s) {
  std::int64_t v = 0;
  std::string_view t = s.starts_with('+') && !s.starts_with("+-") ? s.substr(1) : s;
  auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), v);
  if (error != std::errc() || end != t.data() + t.size())
    return fail(ErrorKind::kInvalid, "'" + std::string(s.substr(0, 40)) + "' is not a whole number");
  return v;
}

Result<double> parse_double(std::string_view s) {
  double v = 0;
  std::string_view t = s.starts_with('+') && !s.starts_with("+-") ? s.substr(1) : s;
  auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), v);
  if (error != std::errc() || end != t.data() + t.size() || !std::isfinite(v))
    return fail(ErrorKind::kInvalid, "'" + std::string(s.substr(0, 40)) + "' is not a number");
  return v;
}

Result<std::vector<std::string>> expand_hostlist(std::string_view s, std::size_t limit) {
  std::vector<std::string> out;
  std::size_t at = 0;
  auto bad = [&](const std::string& why) { return fail(ErrorKind::kInvalid, "host list '" + std::string(s.substr(0, 60)) + "': " + why); };
  while (at < s.size()) {
    // One item: text and bracket groups up to a comma outside brackets.
    std::vector<std::string> names{""};
    bool any = false;
    for (; at < s.size() && s[at] != ',';) {
      if (s[at] == ']') return bad("']' without '['");
      if (s[at] != '[') {
        for (std::string& n : names) n += s[at];
        any = true, ++at;
        continue;
      }
      std::size_t close = s.find(']', at);
      if (close == std::string_view::npos) return bad("'[' is not closed");
      std::vector<std::string> middle;
      for (std::string_view part : split(s.substr(at + 1, close - at - 1), ',')) {
        std::size_t dash = part.find('-');
        std::string_view low = part.substr(0, dash), high = dash == std::string_view::npos ? low : part.substr(dash + 1);
        auto a = parse_int(low), b = parse_int(high);
        if (!a || !b || *a < 0) return bad("'" + std::string(part) + "' is not a range of numbers");
        if (*b < *a) return bad("range '" + std::string(part) + "' runs backwards");
        if (static_cast<std::size_t>(*b - *a) >= limit || middle.size() + static_cast<std::size_t>(*b - *a) >= limit)
          return bad("more than " + std::to_string(limit) + " names");
        for (std::int64_t v = *a; v <= *b; ++v) {
          std::string digits = std::to_string(v);
          if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
          middle.push_back(std::move(digits));
        }
      }
      if (names.size() * middle.size() + out.size() > limit) return bad("more than " + std::to_string(limit) + " names");
      std::vector<std::string> longer;
      longer.reserve(names.size() * middle.size());
      for (const std::string& n : names)
        for (const std::string& m : middle) longer.push_back(n + m);
      names = std::move(longer);
      any = true, at = close + 1;
    }
    if (!any) return bad("an empty name");
    if (out.size() + names.size() > limit) return bad("more than " + std::to_string(limit) + " names");
    out.insert(out.end(), names.begin(), names.end());
    if (at < s.size() && ++at == s.size()) return bad("ends in a comma");
  }
  return out;
}

std::string compress_hostlist(const std::vector<std::string>& names) {
  struct Part {
    std::string prefix;
    std::size_t width;
    std::string ranges;
    std::int64_t from, to;
  };
  std::vector<Part> parts;
  auto close = [](Part& p) {
    auto pad = [&](std::int64_t v) {
      std::string d = std::to_string(v);
      return d.size() < p.width ? std::string(p.width - d.size(), '0') + d : d;
    };
    p.ranges += (p.ranges.empty() ? "" : ",") + (p.from == p.to ? pad(p.from) : pad(p.from) + "-" + pad(p.to));
  };
  std::string out;
  auto flush = [&] {
    if (parts.empty()) return;
    Part& p = parts.back();
    close(p);
    bool single = p.ranges.find_first_of(",-") == std::string::npos;
    out += (out.empty() ? "" : ",") + (single ? p.prefix + p.ranges : p.prefix + "[" + p.ranges + "]");
    parts.clear();
  };
  for (const std::string& n : names) {
    std::size_t digits = n.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(n[digits - 1])) && n.size() - digits < 9) --digits;
    if (digits == n.size()) {
      flush();
      out += (out.empty() ? "" : ",") + n;
      continue;
    }
    std::string prefix = n.substr(0, digits), tail = n.substr(digits);
    std::int64_t v = *parse_int(tail);
    std::size_t width = tail.size() > 1 && tail[0] == '0' ? tail.size() : 0;
    if (!parts.empty() && parts.back().prefix == prefix && (parts.back().width == width || parts.back().width == tail.size())) {
      Part& p = parts.back();
      if (v == p.to + 1) p.to = v;
      else close(p), p.from = p.to = v;
    } else {
      flush();
      parts.push_back({prefix, width, "", v, v});
    }
  }
  flush();
  return out;
}

namespace {
ErrorKind open_failed(int error) {
  return error == ENOENT || error == ENOTDIR ? ErrorKind::kNotFound
         : error == EISDIR                   ? ErrorKind::kInvalid
         : error == EACCES || error == EROFS ? ErrorKind::kDenied
                                             : ErrorKind::kUnavailable;
}
}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return fail(open_failed(errno), std::string("cannot read: ") + std::strerror(errno), path);
  }
  struct stat info {};
  std::string out;
  Status status;
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) status = fail(ErrorKind::kInvalid, "is a directory; name a file", path);
  char buffer[1 << 16];
  while (status) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n == 0) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = fail(ErrorKind::kUnavailable, std::string("cannot read: ") + std::strerror(errno), path);
    else if (out.size() + static_cast<std::size_t>(n) > limit)
      status = fail(ErrorKind::kInvalid, "is larger than " + std::to_string(limit) + " bytes", path);
    else out.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(fd);
  if (!status) return std::unexpected(status.error());
  return out;
}

namespace {

Status write_all(int fd, std::string_view content, const std::string& path, bool keep) {
  int why = 0;
  for (std::size_t done = 0; done < content.size() && !why;) {
    ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n > 0) done += static_cast<std::size_t>(n);
    else if (n == 0 || errno != EINTR) why = n == 0 ? ENOSPC : errno;
  }
  if (keep && !why && fsync(fd) != 0) why = errno;
  if (::close(fd) != 0 && !why) why = errno;
  if (why) return fail(ErrorKind::kUnavailable, std::string("cannot write: ") + std::strerror(why), path);
  return {};
}

}  // namespace

Status write_file(const std::string& path, std::string_view content) {
  auto cannot = [&](int why) { return fail(open_failed(why), std::string("cannot write: ") + std::strerror(why), path); };
  // Through a symbolic link the file it names is replaced; what is no regular file (a pipe, a device) is written to and never replaced.
  std::string target = path;
  mode_t mode = 0644;
  struct stat st {};
  if (::stat(path.c_str(), &st) == 0) {
    if (S_ISDIR(st.st_mode)) return cannot(EISDIR);
    if (!S_ISREG(st.st_mode)) {
      int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      return fd < 0 ? cannot(errno) : write_all(fd, content, path, false);
    }
    mode = st.st_mode & 07777;
    if (char* real = ::realpath(path.c_str(), nullptr)) target = real, std::free(real);
  }
  std::string temporary = target + ".weft-tmp";
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return cannot(errno);
  if (mode != 0644 && ::fchmod(fd, mode) != 0) return ::close(fd), ::unlink(temporary.c_str()), cannot(errno);
  Status written = write_all(fd, content, path, true);
  if (written && std::rename(temporary.c_str(), target.c_str()) != 0) written = cannot(errno);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

}  // namespace weft
