package schedule

import (
	"fmt"
	"math"
)

// SiteCost describes a site.
type SiteCost struct {
	Name   string  // domain name; each adds its length and one separator to q_j
	Size   float64 // P_z, the content to be downloaded
	Result float64 // h_z, the links found, sent back to the server
}

// ClientCost describes a client. The slices hold one value per site.
type ClientCost struct {
	ServerResponse float64   // tos_j: response time of the crawl's server
	ServerSpeed    float64   // vsc_j: speed of the link to that server
	DNS            float64   // tdns_j: response time of the DNS server
	Compute        float64   // v_j: speed of the computer
	Connect        []float64 // ttcp_jz: time of establishing the TCP connection
	WebResponse    []float64 // tweb_jz: response time of the web server
	WebSpeed       []float64 // vweb_jz: download speed
}

// FullModel returns the complete cost model of Pechnikov et al. (2017, section 4) as a problem with
// unrelated clients. Client j takes for a batch U the time
//
//	T_j = t_in + t_work + t_out
//	t_in   = tos_j + q_j/vsc_j
//	t_work = Σ_{z∈U} (tdns_j + ttcp_jz + tweb_jz + P_z/vweb_jz + P_z/v_j)
//	t_out  = (Σ_{z∈U} h_z)/vsc_j
//
// q_j is the size of the list of the batch's domain names. Sizes are in KB, speeds in KB/s and
// times in seconds. tos_j becomes the setup of client j, and everything else becomes the duration
// of a pair. In the paper an empty batch takes tos_j; here a client without a site takes no time.
// A client cannot do a site whose duration there is infinite, for instance because a time of the
// pair is +Inf. To measure what [ReducedModel] loses against it: go run ./examples/papers -only
// pechnikov-model.
//
// Time and memory: O(n·m).
func FullModel(sites []SiteCost, clients []ClientCost) (*Problem, error) {
	if len(sites) == 0 {
		return nil, fmt.Errorf("%w: no sites", ErrProblem)
	}
	if len(clients) == 0 {
		return nil, fmt.Errorf("%w: no clients", ErrProblem)
	}
	for z, s := range sites {
		if !(s.Size >= 0) || !(s.Result >= 0) {
			return nil, fmt.Errorf("%w: site %d: size %v, result %v", ErrDuration, z, s.Size, s.Result)
		}
	}
	durations := make([][]float64, len(sites))
	for z := range durations {
		durations[z] = make([]float64, len(clients))
	}
	setup := make([]float64, len(clients))
	for j, c := range clients {
		if len(c.Connect) != len(sites) || len(c.WebResponse) != len(sites) || len(c.WebSpeed) != len(sites) {
			return nil, fmt.Errorf("%w: client %d has %d, %d and %d values for %d sites", ErrProblem, j,
				len(c.Connect), len(c.WebResponse), len(c.WebSpeed), len(sites))
		}
		if !positive(c.ServerSpeed) || !positive(c.Compute) || !(c.ServerResponse >= 0) || !(c.DNS >= 0) {
			return nil, fmt.Errorf("%w: client %d: server speed %v, computer speed %v, server response %v, DNS %v",
				ErrDuration, j, c.ServerSpeed, c.Compute, c.ServerResponse, c.DNS)
		}
		setup[j] = c.ServerResponse
		for z, s := range sites {
			if !positive(c.WebSpeed[z]) || !(c.Connect[z] >= 0) || !(c.WebResponse[z] >= 0) {
				return nil, fmt.Errorf("%w: client %d, site %d: speed %v, connection %v, response %v",
					ErrDuration, j, z, c.WebSpeed[z], c.Connect[z], c.WebResponse[z])
			}
			name := float64(len(s.Name)+1) / 1024
			durations[z][j] = name/c.ServerSpeed +
				c.DNS + c.Connect[z] + c.WebResponse[z] + s.Size/c.WebSpeed[z] + s.Size/c.Compute +
				s.Result/c.ServerSpeed
		}
	}
	p, err := NewUnrelated(durations)
	if err != nil {
		return nil, err
	}
	return p.WithStarts(nil, setup)
}

// ReducedModel is [FullModel] without the terms that are equal for all clients or negligible
// (section 5). It returns a problem with uniform clients, in which client j takes
//
//	T_j = Σ_{z∈U} P_z · (1/vweb_j + 1/v_j).
//
// The paper prints the reciprocal of that factor, which is the speed. Sizes are in KB and speeds in
// KB/s. To measure what it loses: go run ./examples/papers -only pechnikov-model.
func ReducedModel(sizes, webSpeed, compute []float64) (*Problem, error) {
	if len(webSpeed) != len(compute) {
		return nil, fmt.Errorf("%w: %d download speeds, %d computer speeds", ErrProblem, len(webSpeed), len(compute))
	}
	unit := make([]float64, len(compute))
	for j := range unit {
		if !positive(webSpeed[j]) || !positive(compute[j]) {
			return nil, fmt.Errorf("%w: client %d: download speed %v, computer speed %v", ErrDuration, j, webSpeed[j], compute[j])
		}
		unit[j] = 1/webSpeed[j] + 1/compute[j]
		if math.IsInf(unit[j], 1) {
			return nil, fmt.Errorf("%w: client %d", ErrDuration, j)
		}
	}
	return NewUniform(sizes, unit)
}
