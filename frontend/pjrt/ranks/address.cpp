#include "frontend/pjrt/ranks/address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

namespace tuff::pjrt {

namespace {

// As numbers; empty where it is none of the internet.
std::string text_of(const sockaddr* address) {
  if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return "";
  socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  char text[NI_MAXHOST];
  if (getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

// Those of interfaces that are up, IPv4 first; without addresses of one link.
std::vector<std::string> interface_addresses() {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (int family : {AF_INET, AF_INET6})
    for (const ifaddrs* i = list; i; i = i->ifa_next) {
      bool usable = (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK);
      if (!usable || !i->ifa_addr || i->ifa_addr->sa_family != family) continue;
      std::string text = text_of(i->ifa_addr);
      if (!text.empty() && text.find('%') == std::string::npos) found.push_back(text);
    }
  freeifaddrs(list);
  return found;
}

std::vector<std::string> addresses_of_name(const std::string& name) {
  std::vector<std::string> found;
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &list) != 0) return found;
  for (const addrinfo* i = list; i; i = i->ai_next) found.push_back(text_of(i->ai_addr));
  freeaddrinfo(list);
  return found;
}

}  // namespace

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, HOST_NAME_MAX) == 0 ? name : "?";
}

std::string machine_id() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char network[64] = {};
  if (readlink("/proc/self/ns/net", network, sizeof network - 1) < 0) network[0] = 0;
  return (boot.empty() ? host_name() : boot) + " " + network;
}

std::string own_address() {
  if (const char* variable = std::getenv("TUFF_HOST"); variable && *variable) return variable;
  std::vector<std::string> own = interface_addresses();
  for (const std::string& named : addresses_of_name(host_name()))
    if (std::find(own.begin(), own.end(), named) != own.end()) return named;
  return own.empty() ? "" : own[0];
}

}  // namespace tuff::pjrt
