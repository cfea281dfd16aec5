;;; journeyman-buffers.el --- Files as the buffers of this Emacs have them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools

;;; Commentary:

;; The program asks for a file before it writes it.  It gets the text that the person sees, saved or not,
;; and is told where a buffer has unsaved changes or was made read-only, so that nothing is written behind
;; a buffer's back.
;;
;; Law: only files beneath the project's root are told.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defconst journeyman-buffers--most-bytes (* 8 1024 1024)
  "Largest file without a buffer that is sent, in bytes.")

(defun journeyman-buffers--text (line limit)
  "The text of the current buffer: LIMIT lines from LINE on; nil means all."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (when line (forward-line (1- line)))
      (let ((start (point)))
        (if limit (forward-line limit) (goto-char (point-max)))
        ;; Bytes that are no characters cannot be told in JSON.
        (replace-regexp-in-string "[\x3fff80-\x3fffff]" "\ufffd"
                                  (buffer-substring-no-properties start (point)))))))

(defun journeyman-buffers--kept (buffer)
  "Why the file of BUFFER must not be written, or nil."
  (with-current-buffer buffer
    (cond ((buffer-modified-p) "it has unsaved changes in the editor")
          ((and buffer-read-only (file-writable-p buffer-file-name)
                (not (derived-mode-p 'special-mode)) (not (bound-and-true-p view-mode)))
           "its buffer is read-only in the editor"))))

(defun journeyman-buffers-read (root params)
  "The answer to a request with PARAMS to read a file below ROOT.
It is (ok . RESULT) or (error . TEXT)."
  (let-alist params
    (let* ((number (lambda (value) (and (integerp value) (> value 0) value)))
           (line (funcall number .line)) (limit (funcall number .limit))
           (buffer (and (stringp .path) (not (file-remote-p .path)) (find-buffer-visiting .path))))
      (cond
       ((not (and (stringp .path) (string-prefix-p root (expand-file-name .path))))
        '(error . "That file is outside the project"))
       (buffer
        (let ((kept (journeyman-buffers--kept buffer)))
          (unless (or kept (verify-visited-file-modtime buffer) (not (file-exists-p .path)))
            (with-current-buffer buffer (revert-buffer t t t)))
          `(ok . ((content . ,(with-current-buffer buffer (journeyman-buffers--text line limit)))
                  ,@(and kept `((_meta . ((journeyman . ((keeps . ,kept)))))))))))
       ((and (file-readable-p .path) (file-regular-p .path)
             (<= (file-attribute-size (file-attributes .path)) journeyman-buffers--most-bytes))
        `(ok . ((content . ,(with-temp-buffer
                              (insert-file-contents .path)
                              (journeyman-buffers--text line limit))))))
       (t '(error . "There is no such file, or it is too large"))))))

(provide 'journeyman-buffers)
;;; journeyman-buffers.el ends here
