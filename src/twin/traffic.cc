#include "twin/traffic.h"

#include <algorithm>
#include <cmath>

#include "fabric/routes.h"

namespace weft::twin {

using fabric::LinkId;
using fabric::Network;

Traffic::Traffic(State& state) : state_(state), rates_(state.built.link_count() * 2), card_bytes_(state.cards.size()) {
  const fabric::Snapshot& s = state.built;
  to_storage_.resize(state.nodes.size()), own_links_.resize(state.nodes.size());
  fabric::Routes routes(s);
  for (std::size_t n = 0; n < state.nodes.size(); ++n) {
    for (int nic : state.nodes[n].nics)
      for (int q : state.nics[static_cast<std::size_t>(nic)].ports) {
        LinkId l = s.port(state.ports[static_cast<std::size_t>(q)].id).link;
        if (s.link(l).networks & fabric::bit(Network::kStorage) && !s.link(l).spare) own_links_[n].push_back(l);
      }
    if (state.storages.empty() || state.nodes[n].cards.empty()) continue;
    const fabric::Route& r =
        routes.between(state.cards[static_cast<std::size_t>(state.nodes[n].cards[0])].id, state.storages[0].id, Network::kStorage);
    for (const fabric::RouteHop& hop : r.hops) to_storage_[n].push_back({hop.link, hop.share});
  }
}

void Traffic::storage_shares(const fabric::Snapshot& real) {
  for (std::size_t n = 0; n < state_.nodes.size(); ++n) {
    double have = 0, built = 0;
    for (LinkId l : own_links_[n]) {
      built += state_.built.link(l).rate.value();
      if (!state_.links[l.v].black_hole || !state_.in_service[l.v]) have += real.effective_rate(l).value();
    }
    // The paths are far from full: half of them do as well, less begins to show.
    state_.nodes[n].storage_share = built > 0 ? std::min(1.0, 2 * have / built) : 1;
  }
}

bool Traffic::storage_path(LinkId link, const JobRun& job, const State& state) const {
  for (int c : job.cards) {
    int n = state.cards[static_cast<std::size_t>(c)].node;
    if (n < 0) continue;
    for (const Path& hop : to_storage_[static_cast<std::size_t>(n)])
      if (hop.link.link() == link) return true;
  }
  return false;
}

void Traffic::step(const Jobs& jobs, const fabric::Snapshot& real, Noise& noise, double dt) {
  const Parameters& p = *state_.parameters;
  std::fill(rates_.begin(), rates_.end(), 0.0);
  jobs.add_traffic(rates_);
  // Storage: steady reads of the loaders, bursts of writes at checkpoints.
  double read_all = 0, write_all = 0;
  for (std::size_t j = 0; j < jobs.all().size(); ++j) {
    const JobRun& job = jobs.all()[j];
    if (!job.active() && job.phase != JobPhase::kStarting) continue;
    double read = 0, write = 0;
    if (job.phase == JobPhase::kRunning && job.step_seconds > 0)
      read = std::max(static_cast<double>(job.job.dataset_per_step.value()),
                      p.get("job.data_bytes_per_rank") * static_cast<double>(job.cards.size())) /
             job.step_seconds;
    double model_bytes = static_cast<double>(job.job.model.parameters()) * p.get("job.checkpoint_bytes_per_parameter");
    if (job.phase == JobPhase::kStarting) read = model_bytes / 30;
    if (job.phase == JobPhase::kSaving) write = model_bytes / std::max(job.save_seconds, 0.1);
    read_all += read, write_all += write;
    std::vector<int> nodes;
    for (int c : job.cards) nodes.push_back(state_.cards[static_cast<std::size_t>(c)].node);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (int n : nodes) {
      if (n < 0) continue;
      double each = 1.0 / static_cast<double>(nodes.size());
      for (const Path& hop : to_storage_[static_cast<std::size_t>(n)]) {
        rates_[hop.link.v] += write * each * hop.share;
        rates_[hop.link.v ^ 1] += read * each * hop.share;
      }
    }
  }
  for (Storage& st : state_.storages) {
    st.read_rate = noise.around(read_all / static_cast<double>(state_.storages.size()), 0.05) + p.get("storage.background_bps");
    st.write_rate = noise.around(write_all / static_cast<double>(state_.storages.size()), 0.05) + p.get("storage.background_bps") / 4;
    st.read += st.read_rate * dt, st.write += st.write_rate * dt;
  }
  std::fill(card_bytes_.begin(), card_bytes_.end(), 0.0);
  for (std::uint32_t l = 0; l < state_.links.size(); ++l) {
    const fabric::Link& link = state_.built.link(LinkId{l});
    Port &a = state_.ports[link.a.v], &b = state_.ports[link.b.v];
    if (!a.exports) continue;
    double rate = real.effective_rate(LinkId{l}).value() / 8;
    double phase = 1 + 0.08 * noise.normal();  // compute and exchange phases do not divide a second evenly (N15)
    double forward = rate > 0 ? std::min(rate, std::max(0.0, rates_[2 * l] * phase)) : 0,
           backward = rate > 0 ? std::min(rate, std::max(0.0, rates_[2 * l + 1] * phase)) : 0;
    double foreign = state_.links[l].foreign * link.rate.value() / 8;
    forward += foreign, backward += foreign;
    if (a.ethernet && rate > 0) forward += p.get("port.background_bps"), backward += p.get("port.background_bps");
    rates_[2 * l] = forward, rates_[2 * l + 1] = backward;
    auto end = [&](Port& q, double tx, double rx) {
      q.tx += tx * dt, q.rx += rx * dt;
      q.uncorrectable += q.knobs.uncorrectable * dt, q.crc += q.knobs.crc * dt, q.discards += q.knobs.discards * dt;
      q.retries += (q.knobs.retries + (rate > 0 ? 0.002 : 0)) * dt;
      double use = rate > 0 ? tx / rate : 0, into = rate > 0 ? rx / rate : 0;
      if (q.ethernet) {
        // Bursts of marks and a few pauses go with exchange phases, on all rails alike (N15, N16).
        double burst = std::max(0.0, 1 + 0.5 * noise.normal());
        q.ecn += (p.get("port.marks_at_full") * use * use * burst + q.knobs.ecn) * dt;
        q.pfc_tx += (p.get("port.pauses_at_full") * into * into * burst + q.knobs.pfc_tx) * dt;
        q.pfc_rx += (p.get("port.pauses_at_full") * use * use * burst + q.knobs.pfc_rx) * dt;
      }
      const fabric::Port& built = state_.built.port(q.id);
      if (int c = state_.built.device(built.device).kind == fabric::DeviceKind::kCard ? state_.card_of(built.device) : -1;
          c >= 0 && state_.scale_up(LinkId{l}))
        card_bytes_[static_cast<std::size_t>(c)] += tx + rx;
    };
    end(a, forward, backward), end(b, backward, forward);
  }
  for (Nic& n : state_.nics) {
    double tx = 0, rx = 0, marked = 0, full = 0;
    for (int q : n.ports) {
      const Port& port = state_.ports[static_cast<std::size_t>(q)];
      LinkId l = state_.built.port(port.id).link;
      bool forward = state_.built.link(l).a == port.id;
      double rate = std::max(1.0, state_.built.link(l).rate.value() / 8), out = rates_[2 * l.v + (forward ? 0 : 1)],
             in = rates_[2 * l.v + (forward ? 1 : 0)];
      tx += out, rx += in;
      double into = in / rate;
      marked += p.get("port.marks_at_full") * into * into * std::max(0.0, 1 + 0.5 * noise.normal());
      // The far port's marks arrive here.
      marked += state_.ports[state_.built.peer(port.id).v].knobs.ecn;
      full = std::max(full, out / rate);
    }
    n.tx += tx * dt, n.rx += rx * dt;
    (n.knobs.prio0 ? n.prio0 : n.prio3) += tx * dt;
    n.prio0 += p.get("port.background_bps") * 0.1 * dt;
    n.marked += marked * dt;
    if (!n.knobs.no_cnp) n.cnp_sent += (0.6 * marked + n.knobs.cnp) * dt;
    n.cnp_handled += p.get("port.marks_at_full") * 0.5 * full * full * dt;
    n.wait += (1e4 + 4e6 * full + 2e8 * n.knobs.rx_pause) * dt;
    double pause = p.get("port.pause_share_at_full") * full * full;
    n.rx_pause += std::min(1.0, pause + n.knobs.rx_pause) * dt, n.tx_pause += std::min(1.0, pause * 0.5 + n.knobs.tx_pause) * dt;
    n.oos += (n.knobs.out_of_sequence + 1e-4) * dt, n.timeouts += n.knobs.ack_timeout * dt;
    n.discards += n.knobs.discards * dt, n.rx_errors += n.knobs.rx_errors * dt;
  }
}

}  // namespace weft::twin
