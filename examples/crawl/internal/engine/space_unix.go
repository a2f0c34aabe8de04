//go:build unix

package engine

import "golang.org/x/sys/unix"

// freeSpace returns the number of bytes that may still be written where a folder is.
func freeSpace(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
