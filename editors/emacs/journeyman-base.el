;;; journeyman-base.el --- What the parts of Journeyman share  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools

;;; Commentary:

;; Settings, the program as a process that Emacs never waits for, and buffers whose files it changed.

;;; Code:

(require 'subr-x)

(defgroup journeyman nil
  "A coding agent: every tool call is approved, journaled and undoable."
  :group 'tools
  :prefix "journeyman-")

(defcustom journeyman-program '("jm")
  "The program and its arguments before the subcommand."
  :type '(repeat string))

(defcustom journeyman-model nil
  "The model as PROVIDER/NAME; nil uses the program's configuration."
  :type '(choice (const nil) string)
  :safe #'stringp)

(defun journeyman-base-start (name words on-line on-ended &optional input)
  "Start the program with WORDS as process NAME, for the current buffer.
ON-LINE gets each line of its output; ON-ENDED the exit code and what it said
on its error output.  Both run in the buffer, while that is alive.
INPUT is its whole standard input; nil leaves that open."
  (let* ((buffer (current-buffer))
         (errors (generate-new-buffer (format " *%s errors*" name)))
         (pieces nil)
         (process-environment (cons "NO_COLOR=1" process-environment))
         (hear (lambda (line)
                 (when (buffer-live-p buffer)
                   (with-current-buffer buffer (funcall on-line line)))))
         (process
          (condition-case problem
              (make-process
               :name name :connection-type 'pipe :noquery t :coding 'utf-8-unix
               :command (append journeyman-program words)
               :stderr (make-pipe-process :name (concat name " errors") :buffer errors :noquery t
                                          :sentinel #'ignore)
               :filter
               (lambda (_process text)
                 (let ((from 0) to)
                   (while (setq to (string-search "\n" text from))
                     (push (substring text from to) pieces)
                     (let ((line (apply #'concat (nreverse pieces))))
                       (setq pieces nil from (1+ to))
                       (unless (string-empty-p line) (funcall hear line))))
                   (when (< from (length text)) (push (substring text from) pieces))))
               :sentinel
               (lambda (process _what)
                 (unless (process-live-p process)
                   (let ((said (if (buffer-live-p errors)
                                   (with-current-buffer errors (string-trim (buffer-string)))
                                 "")))
                     (when (buffer-live-p errors) (kill-buffer errors))
                     (when (buffer-live-p buffer)
                       (with-current-buffer buffer
                         (funcall on-ended (process-exit-status process) said)))))))
            (file-error
             (kill-buffer errors)
             (user-error "Cannot start %s: %s" (car journeyman-program)
                         (error-message-string problem))))))
    (when input
      (process-send-string process input)
      (process-send-eof process))
    process))

(defun journeyman-base-end (process)
  "Close the input of PROCESS, so that it exits; kill it after a while."
  (when (process-live-p process)
    (ignore-errors (process-send-eof process))
    (run-with-timer 25 nil (lambda ()
                             (when (process-live-p process) (delete-process process))))))

(defun journeyman-base-reread (&optional root)
  "Revert unmodified buffers whose files have changed.
With ROOT, only those of files below it."
  (dolist (other (buffer-list))
    (with-current-buffer other
      (when (and buffer-file-name
                 (not (file-remote-p buffer-file-name))
                 (or (not root) (string-prefix-p root (expand-file-name buffer-file-name)))
                 (not (derived-mode-p 'journeyman-chat-mode))
                 (not (buffer-modified-p)) (file-exists-p buffer-file-name)
                 (not (verify-visited-file-modtime other)))
        (revert-buffer t t t)))))

(provide 'journeyman-base)
;;; journeyman-base.el ends here
