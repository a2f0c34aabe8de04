// Package urlfrontierpb has the messages of the URLFrontier interface, generated from
// urlfrontier.proto.
package urlfrontierpb

//go:generate go run github.com/bufbuild/buf/cmd/buf@v1.75.0 generate
